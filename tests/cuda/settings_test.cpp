// Settings of the CUDA kernels, and choices of GEMMs in force.
#include "kernels/cuda/host/settings.h"

#include "kernels/gemm_timing.h"
#include "tests/cuda/gemm_arguments.h"

namespace octet::cuda_test {
namespace {

using namespace octet::cuda;

struct Settings : testing::Test {
  void TearDown() override { set_cuda_settings({}); }
};

TEST_F(Settings, AreInForceAndCounted) {
  const int before = settings_version();
  set_cuda_settings({.deterministic = true});
  EXPECT_TRUE(settings().deterministic);
  EXPECT_GT(settings_version(), before);
}

TEST_F(Settings, ChoicesAreInForceAndCounted) {
  const int before = settings_version();
  const AlgorithmChoices choices{.platform = {AlgorithmKind::gemm, 1, "GPU"}, .by_problem = {{"a product", {}}}};
  use_gemm_choices(choices);
  EXPECT_EQ(gemm_choices(), choices);
  EXPECT_GT(settings_version(), before);
  use_gemm_choices({});
}

/// The heuristic has nothing to write.
TEST_F(Settings, WhatIsDeterministicTimesNothing) {
  EXPECT_TRUE(CudaSettings().may_time_gemms());
  EXPECT_TRUE(CudaSettings{.gemm = AlgorithmSearch::timed}.may_time_gemms());
  EXPECT_FALSE(CudaSettings{.gemm = AlgorithmSearch::heuristic}.may_time_gemms());
  EXPECT_FALSE(CudaSettings{.deterministic = true}.may_time_gemms());
  EXPECT_TRUE(CudaSettings{.gemm = AlgorithmSearch::heuristic}.may_time_attention());
  EXPECT_FALSE(CudaSettings{.attention = AlgorithmSearch::heuristic}.may_time_attention());
  EXPECT_FALSE(CudaSettings{.deterministic = true}.may_time_attention());
}

}  // namespace
}  // namespace octet::cuda_test
