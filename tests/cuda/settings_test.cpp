// Settings of the CUDA kernels, and the file of GEMM plans that they name.
#include "kernels/cuda/settings.h"

#include <fstream>

#include "kernels/gemm_timing.h"
#include "tests/cuda/gemm_arguments.h"

namespace octet::cuda_test {
namespace {

using namespace octet::cuda;

std::string refusal_of(const CudaSettings& settings) {
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
  set_cuda_settings({.gemm = CudaPlanChoice::timed});
  EXPECT_NE(refusal_of({.deterministic = true, .gemm = CudaPlanChoice::timed}).find("not deterministic"),
            std::string::npos);
  EXPECT_EQ(refusal_of({.gemm = CudaPlanChoice::heuristic, .gemm_plans = "/nowhere/plans"}),
            "[kernels] cuda.gemm_plans: /nowhere/plans does not exist; a run with cuda.gemm: timed writes it");
  EXPECT_EQ(refusal_of({.deterministic = true, .attention = CudaPlanChoice::timed}),
            "[kernels] cuda.attention: timed chooses anew in every run, which is not deterministic; use heuristic");
  EXPECT_EQ(settings(), (CudaSettings{.gemm = CudaPlanChoice::timed}));
}

TEST_F(Settings, AFileThatIsNoneIsRefusedAtOnce) {
  const TemporaryFile file;
  std::ofstream(file.path()) << "lr: 3\n";
  EXPECT_EQ(refusal_of({.gemm = CudaPlanChoice::timed, .gemm_plans = file.path()}),
            fmt::format("[kernels] {}:1: expected \"octet gemm plans, version 1\"; delete the file or name another",
                        file.path()));
}

TEST_F(Settings, AFileToBeWrittenNeedNotExist) {
  const TemporaryFile file;
  EXPECT_EQ(refusal_of({.gemm = CudaPlanChoice::timed, .gemm_plans = file.path()}), "");
}

TEST_F(Settings, ChoicesAreInForceAndCounted) {
  const int before = settings_version();
  const PlanChoices choices{.platform = {PlanKind::gemm, 1, "GPU"}, .by_problem = {{"a product", {}}}};
  use_gemm_choices(choices);
  EXPECT_EQ(gemm_choices(), choices);
  EXPECT_GT(settings_version(), before);
  use_gemm_choices({});
}

/// The heuristic has nothing to write.
TEST_F(Settings, WhatIsDeterministicTimesNothing) {
  EXPECT_TRUE(CudaSettings().may_time_gemms());
  EXPECT_TRUE(CudaSettings{.gemm = CudaPlanChoice::timed}.may_time_gemms());
  EXPECT_FALSE(CudaSettings{.gemm = CudaPlanChoice::heuristic}.may_time_gemms());
  EXPECT_FALSE(CudaSettings{.deterministic = true}.may_time_gemms());
  EXPECT_TRUE(CudaSettings{.gemm = CudaPlanChoice::heuristic}.may_time_attention());
  EXPECT_FALSE(CudaSettings{.attention = CudaPlanChoice::heuristic}.may_time_attention());
  EXPECT_FALSE(CudaSettings{.deterministic = true}.may_time_attention());
  EXPECT_NE(refusal_of({.deterministic = true, .gemm_plans = "/nowhere/plans"}).find("does not exist"),
            std::string::npos);
}

}  // namespace
}  // namespace octet::cuda_test
