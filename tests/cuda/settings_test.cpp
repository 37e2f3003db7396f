// Settings of the CUDA kernels, and the file of GEMM plans that they name.
#include "kernels/cuda/settings.h"

#include <fstream>

#include "kernels/gemm_timing.h"
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
  EXPECT_EQ(refusal({.gemm = CudaGemmChoice::heuristic, .gemm_plans = "/nowhere/plans"}),
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

TEST_F(Settings, ChoicesAreInForceAndCounted) {
  const int before = settings_version();
  const GemmChoices choices{.platform = {1, "GPU"}, .by_problem = {{"a product", {}}}};
  use_gemm_choices(choices);
  EXPECT_EQ(gemm_choices(), choices);
  EXPECT_GT(settings_version(), before);
  use_gemm_choices({});
}

/// The heuristic has nothing to write.
TEST_F(Settings, WhatIsDeterministicTimesNothing) {
  EXPECT_TRUE(CudaSettings().may_time());
  EXPECT_TRUE(CudaSettings{.gemm = CudaGemmChoice::timed}.may_time());
  EXPECT_FALSE(CudaSettings{.gemm = CudaGemmChoice::heuristic}.may_time());
  EXPECT_FALSE(CudaSettings{.deterministic = true}.may_time());
  EXPECT_NE(refusal({.deterministic = true, .gemm_plans = "/nowhere/plans"}).find("does not exist"), std::string::npos);
}

}  // namespace
}  // namespace octet::cuda_test
