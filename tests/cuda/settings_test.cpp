// Settings of the CUDA kernels, and the file of GEMM plans that they name.
#include "kernels/cuda/settings.h"

#include <cstring>
#include <fstream>

#include "kernels/cuda/gemm_plan_file.h"
#include "tests/cuda/gemm_arguments.h"

namespace octet::cuda_test {
namespace {

using namespace octet::cuda;

std::string refusal(const CudaSettings& settings) {
  return error_of(ExitCode::usage, [&] { set_cuda_settings(settings); });
}

struct Settings : testing::Test {
  void TearDown() override { set_cuda_settings({}); }
};

TEST_F(Settings, AreInForceAndCounted) {
  const int before = settings_version();
  set_cuda_settings({.deterministic = true});
  EXPECT_TRUE(settings().deterministic);
  EXPECT_GT(settings_version(), before);
}

TEST_F(Settings, ImpossibleOnesAreRefusedAndLeaveWhatWas) {
  set_cuda_settings({.gemm = CudaGemmChoice::timed});
  EXPECT_NE(refusal({.deterministic = true, .gemm = CudaGemmChoice::timed}).find("not deterministic"),
            std::string::npos);
  EXPECT_EQ(refusal({.gemm_plans = "/nowhere/plans"}),
            "[kernels] cuda.gemm_plans: /nowhere/plans does not exist; a run with cuda.gemm: timed writes it");
  EXPECT_EQ(settings(), (CudaSettings{.gemm = CudaGemmChoice::timed}));
}

TEST_F(Settings, AFileThatIsNoneIsRefusedAtOnce) {
  const TemporaryFile file;
  std::ofstream(file.path()) << "lr: 3\n";
  EXPECT_EQ(refusal({.gemm = CudaGemmChoice::timed, .gemm_plans = file.path()}),
            fmt::format("[kernels] {}:1: expected \"octet gemm plans, version 1\"; delete the file or name another",
                        file.path()));
}

TEST_F(Settings, AFileToBeWrittenNeedNotExist) {
  const TemporaryFile file;
  EXPECT_EQ(refusal({.gemm = CudaGemmChoice::timed, .gemm_plans = file.path()}), "");
}

GemmChoices two_choices() {
  GemmChoices c{.library_version = 130100, .device = "NVIDIA H100 80GB HBM3", .by_problem = {}};
  c.by_problem["m1 n2 k3 bf16 x bf16' > f32"] = {{{0, 1, 0xFFFF'FFFF'FFFF'FFFFu, 3, 4, 5, 6, 0x8000'0000'0000'0000u}},
                                                 12.5};
  c.by_problem["another"] = {{{9, 8, 7, 6, 5, 4, 3, 2}}, 0.25};
  return c;
}

TEST(GemmPlanFile, ReadsWhatItWrote) {
  const TemporaryFile file;
  const GemmChoices written = two_choices();
  write_gemm_choices(file.path(), written);
  write_gemm_choices(file.path(), written);  // over the first
  const GemmChoices read = read_gemm_choices(file.path());
  EXPECT_EQ(read.library_version, written.library_version);
  EXPECT_EQ(read.device, written.device);
  ASSERT_EQ(read.by_problem.size(), 2u);
  for (const auto& [problem, choice] : written.by_problem) {
    const GemmChoice& got = read.by_problem.at(problem);
    EXPECT_EQ(std::memcmp(&got.algorithm, &choice.algorithm, sizeof choice.algorithm), 0) << problem;
    EXPECT_EQ(got.microseconds, choice.microseconds);
  }
}

TEST(GemmPlanFile, SaysWhereItIsWrong) {
  const TemporaryFile file;
  write_gemm_choices(file.path(), two_choices());
  const auto refusal_with = [&](int line, const std::string& text) {
    std::ifstream in(file.path());
    std::vector<std::string> lines;
    for (std::string l; std::getline(in, l);) lines.push_back(l);
    lines.at(static_cast<std::size_t>(line) - 1) = text;
    const std::string broken = file.path() + ".broken";
    std::ofstream out(broken);
    for (const std::string& l : lines) out << l << "\n";
    out.close();
    const std::string message = error_of(ExitCode::usage, [&] { read_gemm_choices(broken); });
    std::filesystem::remove(broken);
    EXPECT_NE(message.find(fmt::format(".broken:{}: expected", line)), std::string::npos) << message;
    return message;
  };
  refusal_with(1, "octet gemm plans, version 2");
  refusal_with(2, "cublaslt x");
  refusal_with(3, "machine y");
  refusal_with(4, "0 1 2 3 4 5 6 | 1.0 | seven words");
  refusal_with(5, "0 1 2 3 4 5 6 7 | 1.0 |");
}

TEST(GemmPlanFile, AFolderThatIsNotThereIsNamed) {
  EXPECT_EQ(error_of(ExitCode::usage, [&] { write_gemm_choices("/nowhere/plans", {}); }),
            "[kernels] /nowhere/plans: cannot be written");
  EXPECT_EQ(error_of(ExitCode::usage, [&] { read_gemm_choices("/nowhere/plans"); }),
            "[kernels] /nowhere/plans: cannot be opened");
}

}  // namespace
}  // namespace octet::cuda_test
