// FLOPs of a step, counted by running it dry.
#include "src/model/step_costs.h"

#include <gtest/gtest.h>

#include "tests/model/local_state.h"

namespace octet {
namespace {

using test::small_model;

StepFlops flops_of(const ModelConfig& model, Precision precision, const Float8Config& float8 = {},
                   const Part& tp = {}) {
  const auto stream = cpu_device().make_stream();
  return step_flops(
      {.model = model, .precision = precision, .float8 = float8, .micro_batch = 2, .seq_len = 16, .tp = tp}, *stream);
}

constexpr double linears = 3.0 * (2 * 32 * 32 + 2 * 16 * 32 + 3 * 64 * 32), wk = 3.0 * 16 * 32;  // of small_model()

/// flops_per_token counts the norms' weights too, with which nothing is multiplied as a matrix.
TEST(StepFlops, AreThoseOfTheFormulaWithoutTheNorms) {
  const ModelConfig m = small_model();
  const double norms = 6.0 * static_cast<double>((2 * m.layers + 1) * m.dim);
  for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::float8}) {
    const StepFlops flops = flops_of(m, precision);
    EXPECT_DOUBLE_EQ(flops.all, m.flops_per_token(16) - norms);
    EXPECT_EQ(flops.recomputed, 0);
    EXPECT_EQ(flops.float8, precision == Precision::float8 ? 6 * linears : 0);
  }
}

TEST(StepFlops, OfAllTensorParallelRanksAreThoseOfOne) {
  EXPECT_DOUBLE_EQ(flops_of(small_model(), Precision::float8, {}, {1, 2}).all,
                   flops_of(small_model(), Precision::float8).all);
}

TEST(StepFlops, CountWhatStaysInBf16Apart) {
  const auto share = [](const Float8Config& float8) {
    return flops_of(small_model(), Precision::float8, float8).float8;
  };
  Float8Config float8{.bf16_linears = {"attention.wk"}};
  EXPECT_DOUBLE_EQ(share(float8), 6 * (linears - wk));
  float8.bf16_linears = {"layers.1.attention.wk"};
  EXPECT_DOUBLE_EQ(share(float8), 6 * (linears - wk / 3));
  float8.bf16_last_layers = 2;
  EXPECT_DOUBLE_EQ(share(float8), 6 * linears / 3);
  EXPECT_DOUBLE_EQ(share({.recipe = "rowwise_with_gw_hp"}), 4 * linears);
}

}  // namespace
}  // namespace octet
