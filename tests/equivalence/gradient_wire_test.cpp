// Training with gradients that travel in bf16, or leave their GEMMs in bf16, against training with fp32.
#include <gtest/gtest.h>

#include "tests/equivalence/harness.h"
#include "tests/equivalence/random_ids.h"
#include "tests/support/numbers.h"

namespace octet {
namespace {

struct WireLayout {
  int replicas, tp;
};

template <typename Case>
class WireTraining : public testing::TestWithParam<Case> {
 protected:
  static constexpr std::int64_t seq_len = 32, sequences = 24, steps = 20;

  static ModelConfig small_model() {
    ModelConfig m;
    m.name = "wire";
    m.dim = 64;
    m.layers = 2;
    m.heads = 4;
    m.kv_heads = 2;
    m.ffn_dim = 160;
    m.vocab_size = 64;
    m.tied_embedding = true;
    m.finish();
    return m;
  }

  static std::vector<std::int32_t> ids(std::uint32_t stream, std::int64_t step) {
    constexpr std::int64_t n = sequences * seq_len;
    return learnable_ids({.seed = 5, .stream = stream}, step * n, n);
  }

  struct Trained {
    std::vector<double> losses, norms;
    std::vector<std::vector<float>> first_gradients;  ///< of every parameter, whole
    std::vector<float> masters;                       ///< this rank's pieces at the end
  };

  /// `change`: what is done to a step's gradients before the optimizer.
  template <typename Change>
  static Trained train(Harness& h, bool keeps_gradients, Change&& change) {
    Trained run;
    h.sharded().initialize(11);
    for (std::int64_t step = 1; step <= steps; ++step) {
      run.losses.push_back(h.forward_backward(ids(0, step), ids(1, step)));
      change(h.sharded());
      h.sharded().finish_step(step, 1e-3);
      run.norms.push_back(*h.sharded().norm().norm());
      if (step > 1 || !keeps_gradients) continue;
      for (const ParameterSpec& p : h.sharded().parameters().parameters) {
        run.first_gradients.push_back(h.whole(h.sharded().gradients(), p.name));
      }
    }
    const float* all = h.sharded().master().all();
    run.masters.assign(all, all + h.sharded().master().layout().elements());
    return run;
  }
  static Trained train(Harness& h) {
    return train(h, true, [](ShardedModel&) {});
  }
};

using WireLayouts = WireTraining<WireLayout>;

INSTANTIATE_TEST_SUITE_P(Layouts, WireLayouts, testing::Values(WireLayout{1, 1}, WireLayout{2, 1}, WireLayout{1, 2}),
                         [](const auto& c) { return fmt::format("replicas_{}_tp_{}", c.param.replicas, c.param.tp); });

/// bf16 keeps 8 bits: each rank's part of a gradient is off by 2^-9 at most and by less than half of that in the mean;
/// what the parts lose against each other when they are added is what the tolerance leaves room for.
TEST_P(WireLayouts, Bf16FollowsFp32) {
  Harness::Options options;
  options.dp_replicate = GetParam().replicas;
  options.tp = GetParam().tp;
  const int ranks = world_size(), others = options.dp_replicate * options.tp;
  if (ranks % others != 0 || ranks == others) GTEST_SKIP() << ranks << " rank(s): no two shards";
  if (sequences % (ranks / options.tp) != 0) GTEST_SKIP() << "no part for each of " << ranks << " ranks";
  Harness wide(small_model(), seq_len, options);
  const Trained fp32 = train(wide);
  options.gradient_wire = DType::bf16;
  Harness narrow(small_model(), seq_len, options);
  const Trained bf16 = train(narrow);

  EXPECT_EQ(bf16.losses[0], fp32.losses[0]);  // before any gradient has travelled
  EXPECT_LT(fp32.losses.back(), 0.9 * fp32.losses.front());
  for (std::size_t s = 0; s < fp32.losses.size(); ++s) {
    EXPECT_NEAR(bf16.losses[s], fp32.losses[s], 5e-4 * fp32.losses[s]) << "step " << s + 1;
  }
  const auto& list = wide.sharded().parameters().parameters;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const double error = test::distance(bf16.first_gradients[i], fp32.first_gradients[i]);
    EXPECT_GT(error, 1e-5) << list[i].name;  // it did travel in bf16
    EXPECT_LT(error, 0x1p-8) << list[i].name;
  }
}

struct NarrowCase {
  const char* name;
  Precision precision;
  const char* recipe = "tensorwise";
  Zero zero = Zero::three;
  int tp = 1;
  bool overlap = false;
};

void PrintTo(const NarrowCase& c, std::ostream* out) {
  *out << c.name;
}

/// Gradients that leave their GEMMs in bf16.
class NarrowGradients : public WireTraining<NarrowCase> {
 protected:
  static bool in_blocks() { return GetParam().recipe == std::string_view("blockwise"); }

  /// Blockwise scaling wants multiples of 128.
  static ModelConfig model() {
    ModelConfig m = small_model();
    if (!in_blocks()) return m;
    m.dim = m.ffn_dim = 128;
    m.heads = m.kv_heads = 2;
    m.head_dim = 64;
    return m;
  }
  Harness::Options options() const {
    const NarrowCase& c = GetParam();
    Harness::Options o{.precision = c.precision, .tp = c.tp, .zero = c.zero, .overlap = c.overlap};
    o.float8.recipe = c.recipe;
    o.float8.delayed_history = 4;
    // Zero 1 with one micro-batch a step; else several, that sums over them are seen.
    const std::int64_t of_a_rank = sequences * c.tp / world_size();
    o.micro_batch = in_blocks() || c.zero == Zero::one ? of_a_rank : std::max<std::int64_t>(of_a_rank / 3, 1);
    return o;
  }
  static void expect_same(const Trained& a, const Trained& b) {
    EXPECT_EQ(a.losses, b.losses);
    EXPECT_EQ(a.norms, b.norms);
    for (std::size_t i = 0; i < std::min(a.first_gradients.size(), b.first_gradients.size()); ++i) {
      EXPECT_TRUE(test::same_bits(a.first_gradients[i], b.first_gradients[i])) << "parameter " << i;
    }
    EXPECT_TRUE(test::same_bits(a.masters, b.masters));
  }
};

INSTANTIATE_TEST_SUITE_P(
    Cases, NarrowGradients,
    testing::Values(NarrowCase{"bf16", Precision::bf16}, NarrowCase{.name = "fp32", .precision = Precision::fp32},
                    NarrowCase{.name = "tensorwise", .precision = Precision::float8, .zero = Zero::two},
                    NarrowCase{.name = "zero_1", .precision = Precision::bf16, .zero = Zero::one, .overlap = true},
                    NarrowCase{.name = "tensorwise_tp_2", .precision = Precision::float8, .tp = 2, .overlap = true},
                    NarrowCase{.name = "delayed", .precision = Precision::float8, .recipe = "delayed"},
                    NarrowCase{.name = "rowwise", .precision = Precision::float8, .recipe = "rowwise"},
                    NarrowCase{.name = "gw_hp", .precision = Precision::float8, .recipe = "rowwise_with_gw_hp"},
                    NarrowCase{.name = "blockwise", .precision = Precision::float8, .recipe = "blockwise"}),
    [](const auto& c) { return c.param.name; });

/// The wire rounds what it is given in fp32, or the GEMM has rounded it.
TEST_P(NarrowGradients, TravelAsTheSameBitsThatTheWireMakesOfFp32) {
  const int ranks = world_size();
  if (ranks % GetParam().tp != 0 || ranks == GetParam().tp) GTEST_SKIP() << ranks << " rank(s): no two shards";
  if (ranks > 4 || sequences % (ranks / GetParam().tp) != 0) GTEST_SKIP() << "fewer ranks show it in less time";
  if (in_blocks() && ranks == 4) GTEST_SKIP() << "the tokens of a rank are no multiple of 128";
  Harness::Options o = options();
  o.gradient_wire = DType::bf16;
  Harness rounding(model(), seq_len, o);
  const Trained expected = train(rounding);
  o.gemm_gradient_dtype = DType::bf16;
  Harness narrow(model(), seq_len, o);
  const Trained found = train(narrow);
  expect_same(found, expected);
  EXPECT_LT(expected.losses.back(), 0.95 * expected.losses.front());
  for (const auto& gemm : narrow.gemms.records()) {
    const bool of_block = gemm.unit.starts_with("block") && gemm.gemm == "grad_weight";
    if (of_block) {
      ASSERT_EQ(gemm.c, DType::bf16) << gemm.unit << " " << gemm.linear;
    }
  }
}

/// One shard against one whose fp32 gradients the test rounds before the optimizer reads them.
TEST_P(NarrowGradients, OfOneShardTrainAsFp32OnesThatAreRounded) {
  if (world_size() != GetParam().tp) GTEST_SKIP() << "not one shard";
  Harness::Options o = options();
  o.micro_batch = sequences;
  o.zero = Zero::two;
  o.overlap = false;
  Harness wide(model(), seq_len, o);
  const Trained expected = train(wide, false, [](ShardedModel& m) {
    for (std::size_t i = 0; i < m.parameters().parameters.size(); ++i) {
      if (!m.parameters().parameters[i].one_gemm_gradient) continue;
      float* g = m.gradients().data(i);
      for (std::int64_t e = 0; e < m.gradients().layout().shard(i).elements(); ++e) {
        g[e] = static_cast<float>(bf16(g[e]));
      }
    }
  });
  Harness plain(model(), seq_len, o);
  const Trained unrounded = train(plain, false, [](ShardedModel&) {});
  o.gradient_wire = o.gemm_gradient_dtype = DType::bf16;
  Harness narrow(model(), seq_len, o);
  const Trained found = train(narrow, false, [](ShardedModel&) {});
  expect_same(found, expected);
  EXPECT_NE(found.norms, unrounded.norms);  // or nothing was shown
  for (std::size_t s = 0; s < found.losses.size(); ++s) {
    // float8 makes of the last bit of a gradient another code in later steps: 5.5e-4 after nine of them, with AMX.
    EXPECT_NEAR(found.losses[s], unrounded.losses[s], 2e-3 * unrounded.losses[s]) << "step " << s + 1;
  }
}

}  // namespace
}  // namespace octet
