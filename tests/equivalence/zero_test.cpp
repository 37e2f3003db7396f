// Training with parallel.zero 1, 2 and 3: the same bits, or the same within what the order of sums may change.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/equivalence/harness.h"
#include "tests/equivalence/random_ids.h"
#include "tests/support/numbers.h"

namespace octet {
namespace {

struct ZeroCase {
  const char* name;
  Precision precision;
  const char* recipe = "tensorwise";
  bool tied = false;
  AutoBool all_gather = AutoBool::automatic;
  RecomputeConfig recompute{};
  DType wire = DType::f32;
  int replicas = 1, tp = 1;
};

void PrintTo(const ZeroCase& c, std::ostream* out) {
  *out << c.name;
}

class ZeroLevels : public testing::TestWithParam<ZeroCase> {
 protected:
  static constexpr std::int64_t sequences_a_shard = 4;

  /// Blockwise scaling wants multiples of 128, of tokens too.
  static bool in_blocks(const ZeroCase& c) { return c.recipe == std::string_view("blockwise"); }

  static std::int64_t seq_len_of(const ZeroCase& c) { return in_blocks(c) ? 128 : 16; }

  /// Else odd extents, so that 3 and 4 shards pad.
  static ModelConfig model_of(const ZeroCase& c) {
    const bool blocks = in_blocks(c);
    ModelConfig m;
    m.name = "zero";
    m.dim = blocks ? 128 : 48;
    m.layers = blocks ? 2 : 3;
    m.heads = 4;
    m.kv_heads = 2;
    m.head_dim = blocks ? 64 : 12;
    m.ffn_dim = blocks ? 128 : 112;
    m.vocab_size = 70;
    m.tied_embedding = c.tied;
    m.finish();
    return m;
  }

  static std::vector<std::int32_t> ids_of(std::uint32_t stream, std::int64_t step, std::int64_t tokens) {
    return learnable_ids({.seed = 3, .stream = stream}, step * tokens, tokens, 13, 70);
  }

  /// PackedDocuments::begin of two documents in every row, of which the first has 5 tokens.
  static std::vector<std::int32_t> documents_of(std::int64_t tokens, std::int64_t seq_len) {
    std::vector<std::int32_t> begin;
    for (std::int64_t i = 0; i < tokens; ++i) begin.push_back(i % seq_len < 5 ? 0 : 5);
    return begin;
  }

  struct Outcome {
    std::vector<double> losses, norms;
    std::vector<std::vector<float>> gradients;  ///< of the first step, this rank's pieces
    std::vector<float> masters;                 ///< after the last step
  };

  void SetUp() override {
    const int ranks = world_size(), others = GetParam().replicas * GetParam().tp;
    const bool plain = GetParam().precision == Precision::fp32 || GetParam().tied;
    if (ranks % others != 0 || ranks > 4 || (ranks == 4 && others == 1 && !plain)) {  // fewer show it in less time
      GTEST_SKIP() << "not with " << ranks << " ranks";
    }
    shards_ = ranks / others;
    if (GetParam().wire != DType::f32 && shards_ == 1) GTEST_SKIP() << "one shard: nothing travels";
  }

  static Outcome train(Zero zero, std::int64_t micro_batch, bool overlap = false, DType whole = DType::f32) {
    const ZeroCase& c = GetParam();
    Harness::Options o;
    o.precision = c.precision;
    o.float8.recipe = c.recipe;
    o.float8.all_gather = c.all_gather;
    o.float8.delayed_history = 4;
    o.micro_batch = micro_batch;
    o.dp_replicate = c.replicas;
    o.tp = c.tp;
    o.recompute = c.recompute;
    o.gradient_wire = c.wire;
    o.zero = zero;
    o.whole_gradients = whole;
    o.overlap = overlap;
    o.poison = true;  // what is let go and used again shows
    const std::int64_t seq_len = seq_len_of(c);
    Harness h(model_of(c), seq_len, o);
    h.sharded().initialize(17);
    Outcome out;
    const std::int64_t tokens = sequences_a_shard * h.mesh().dp().size() * seq_len;
    for (std::int64_t step = 1; step <= 3; ++step) {
      out.losses.push_back(
          h.forward_backward(ids_of(0, step, tokens), ids_of(1, step, tokens), documents_of(tokens, seq_len)));
      h.sharded().finish_step(step, 2e-3);
      out.norms.push_back(*h.sharded().norm().norm());
      for (std::size_t i = 0; step == 1 && i < h.sharded().parameters().parameters.size(); ++i) {
        const float* piece = h.sharded().gradients().data(i);
        out.gradients.emplace_back(piece, piece + h.sharded().gradients().layout().shard(i).padded_elements());
      }
    }
    const float* all = h.sharded().master().all();
    out.masters.assign(all, all + h.sharded().master().layout().elements());
    return out;
  }

  static void expect_same(const Outcome& a, const Outcome& b, const char* what) {
    SCOPED_TRACE(what);
    EXPECT_EQ(a.losses, b.losses);
    EXPECT_EQ(a.norms, b.norms);
    for (std::size_t i = 0; i < a.gradients.size(); ++i) {
      EXPECT_TRUE(test::same_bits(a.gradients[i], b.gradients[i])) << "parameter " << i;
    }
    EXPECT_TRUE(test::same_bits(a.masters, b.masters));
  }

  /// Within `of_loss` of each loss and `of_gradient` of the norm of each gradient.
  static void expect_near(const Outcome& a, const Outcome& b, double of_loss, double of_gradient) {
    for (std::size_t s = 0; s < b.losses.size(); ++s) {
      EXPECT_NEAR(a.losses[s], b.losses[s], of_loss * b.losses[s]) << "step " << s + 1;
    }
    for (std::size_t i = 0; i < b.gradients.size(); ++i) {
      double difference = 0, norm = 0;
      for (std::size_t e = 0; e < b.gradients[i].size(); ++e) {
        const double x = double{a.gradients[i][e]}, y = double{b.gradients[i][e]};
        difference += (x - y) * (x - y);
        norm += y * y;
      }
      EXPECT_LE(std::sqrt(difference), of_gradient * std::sqrt(norm)) << "parameter " << i;
    }
  }

  int shards_ = 1;
};

TEST_P(ZeroLevels, TwoAndThreeHaveTheSameBits) {
  for (const std::int64_t micro_batch : {1, 2}) {
    expect_same(train(Zero::two, micro_batch), train(Zero::three, micro_batch), "2 and 3");
  }
}

TEST_P(ZeroLevels, OneHasThemTooWithOneMicroBatch) {
  const Outcome three = train(Zero::three, sequences_a_shard);
  expect_same(train(Zero::one, sequences_a_shard), three, "1 and 3");
  expect_same(train(Zero::one, sequences_a_shard, false, DType::bf16), three, "1 in bf16 and 3");
}

/// fp8 magnifies the rounding of a weight; see docs/numerics.md.
TEST_P(ZeroLevels, OneIsTheSameWithinTheOrderOfSums) {
  const double of_loss = GetParam().precision == Precision::fp32 ? 1e-6 : 1e-3;
  const Outcome three = train(Zero::three, 1), one = train(Zero::one, 1);
  expect_near(one, three, of_loss, GetParam().wire == DType::f32 ? 1e-6 : 0x1p-7);
  EXPECT_EQ(one.losses[0], three.losses[0]);  // before the first sum
  if (shards_ == 1) expect_same(one, three, "one shard: 1 and 3");
  if (shards_ > 1) {
    EXPECT_NE(one.gradients, three.gradients);  // or nothing was shown
  }
  expect_same(train(Zero::one, 1, true), one, "overlap");
}

/// Each of the three sums before the last is off by 2^-9 at most.
TEST_P(ZeroLevels, WholeGradientsInBf16AreRoundedAndNoMore) {
  if (shards_ == 1) GTEST_SKIP() << "one shard sums in its fp32 pieces";
  const Outcome exact = train(Zero::one, 1), rounded = train(Zero::one, 1, false, DType::bf16);
  expect_near(rounded, exact, 2e-3, 3 * 0x1p-9 + (GetParam().wire == DType::f32 ? 0 : 0x1p-7));
  EXPECT_NE(rounded.gradients, exact.gradients);
  expect_same(train(Zero::one, 1, true, DType::bf16), rounded, "overlap");
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ZeroLevels,
    testing::Values(
        ZeroCase{"fp32", Precision::fp32}, ZeroCase{.name = "fp32_tied", .precision = Precision::fp32, .tied = true},
        ZeroCase{.name = "fp32_recompute",
                 .precision = Precision::fp32,
                 .recompute = {.mode = RecomputeMode::selective, .preset = RecomputePreset::ffn}},
        ZeroCase{.name = "fp32_tp_2", .precision = Precision::fp32, .tied = true, .tp = 2},
        ZeroCase{.name = "fp32_replicas_2", .precision = Precision::fp32, .replicas = 2},
        ZeroCase{"bf16", Precision::bf16},
        ZeroCase{.name = "bf16_wire", .precision = Precision::bf16, .tied = true, .wire = DType::bf16},
        ZeroCase{"tensorwise", Precision::float8},
        ZeroCase{.name = "tensorwise_tied_full",
                 .precision = Precision::float8,
                 .tied = true,
                 .recompute = {.mode = RecomputeMode::full}},
        ZeroCase{.name = "tensorwise_bf16_gather", .precision = Precision::float8, .all_gather = AutoBool::no},
        ZeroCase{.name = "tensorwise_tp_2", .precision = Precision::float8, .tp = 2},
        ZeroCase{"delayed", Precision::float8, "delayed"},
        ZeroCase{.name = "delayed_replicas_2", .precision = Precision::float8, .recipe = "delayed", .replicas = 2},
        ZeroCase{"rowwise", Precision::float8, "rowwise"},
        ZeroCase{"rowwise_with_gw_hp", Precision::float8, "rowwise_with_gw_hp"},
        ZeroCase{"blockwise", Precision::float8, "blockwise"}),
    [](const auto& c) { return c.param.name; });

}  // namespace
}  // namespace octet
