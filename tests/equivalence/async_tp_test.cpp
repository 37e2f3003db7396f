// Asynchronous tensor parallelism, in which parts travel beside the GEMMs, trains as the plain kind does: to the bit
// where a GEMM of some rows gives the bits of one of all; else within rounding.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/equivalence/harness.h"
#include "tests/equivalence/random_ids.h"
#include "tests/support/numbers.h"

namespace octet {
namespace {

struct AsyncCase {
  const char* name;
  double tolerance;  ///< measured on one processor: fp32 and bf16 2e-8, float8 none
  Precision precision = Precision::bf16;
  const char* recipe = "tensorwise";
  bool keep_gathered = false;
  RecomputeConfig recompute{};
  std::vector<std::string> bf16_linears{};
  bool documents = false;
};

void PrintTo(const AsyncCase& c, std::ostream* out) {
  *out << c.name;
}

class AsyncTp : public testing::TestWithParam<AsyncCase> {
 protected:
  static constexpr std::int64_t seq_len = 64, sequences = 4;

  static ModelConfig model() {
    ModelConfig m;
    m.name = "async";
    m.dim = 64;
    m.layers = 2;
    m.heads = 8;
    m.kv_heads = 4;
    m.head_dim = 16;
    m.ffn_dim = 128;
    m.vocab_size = 64;
    m.finish();
    return m;
  }

  static std::vector<std::int32_t> ids(std::uint32_t stream, std::int64_t step) {
    constexpr std::int64_t n = sequences * seq_len;
    return random_ids({.seed = 6, .stream = stream}, step * n, n);
  }

  /// Where documents of 1 to 40 tokens begin in each row.
  static std::vector<std::int32_t> documents() {
    std::vector<std::int32_t> begin;
    std::int32_t length = 1;
    for (std::int64_t row = 0; row < sequences; ++row) {
      for (std::int32_t first = 0; first < seq_len; length = length * 7 % 41) {
        const std::int32_t end = std::min<std::int32_t>(first + length, seq_len);
        begin.resize(begin.size() + static_cast<std::size_t>(end - first), first);
        first = end;
      }
    }
    return begin;
  }

  struct Trained {
    std::vector<double> losses;
    std::vector<float> weights;
    std::int64_t sends = 0;
  };

  static Trained train(int tp, bool async, std::uint64_t delays = 0) {
    Harness::Options o;
    o.precision = GetParam().precision;
    o.float8.recipe = GetParam().recipe;
    o.float8.bf16_linears = GetParam().bf16_linears;
    o.recompute = GetParam().recompute;
    o.tp = tp;
    o.tp_keep_gathered = GetParam().keep_gathered;
    o.async_tp = async;
    o.poison = true;
    o.delays = delays;
    Harness h(model(), seq_len, o);
    h.sharded().initialize(11);
    Trained run;
    for (std::int64_t step = 1; step <= 4; ++step) {
      run.losses.push_back(h.forward_backward(ids(0, step), ids(1, step),
                                              GetParam().documents ? documents() : std::vector<std::int32_t>()));
      h.sharded().finish_step(step, 1e-3);
    }
    for (const ParameterSpec& p : h.sharded().parameters().parameters) {
      const std::vector<float> whole = h.whole(h.sharded().master(), p.name);
      run.weights.insert(run.weights.end(), whole.begin(), whole.end());
    }
    run.sends = h.communication.calls("send", "tp");
    return run;
  }
};

INSTANTIATE_TEST_SUITE_P(
    Cases, AsyncTp,
    testing::Values(AsyncCase{"fp32", 1e-6, Precision::fp32}, AsyncCase{"bf16", 1e-4},
                    AsyncCase{"bf16_kept", 1e-4, Precision::bf16, "tensorwise", true},
                    AsyncCase{"float8", 1e-3, Precision::float8},
                    AsyncCase{"float8_kept", 1e-3, Precision::float8, "tensorwise", true},
                    AsyncCase{"float8_mixed", 1e-3, Precision::float8, "tensorwise", false, {}, {"wk", "w3"}},
                    AsyncCase{"delayed", 1e-3, Precision::float8, "delayed"},
                    AsyncCase{"bf16_full", 1e-4, Precision::bf16, "tensorwise", false, {.mode = RecomputeMode::full}},
                    AsyncCase{"float8_ffn",
                              1e-3,
                              Precision::float8,
                              "tensorwise",
                              false,
                              {.mode = RecomputeMode::selective, .preset = RecomputePreset::ffn}},
                    AsyncCase{.name = "bf16_documents", .tolerance = 1e-4, .documents = true},
                    AsyncCase{.name = "float8_documents",
                              .tolerance = 1e-3,
                              .precision = Precision::float8,
                              .recompute = {.mode = RecomputeMode::full},
                              .documents = true}),
    [](const auto& c) { return c.param.name; });

TEST_P(AsyncTp, TrainsAsThePlainKind) {
  const int all = world_size();
  if (all % 2 != 0) GTEST_SKIP() << "needs an even number of ranks";
  for (const int tp : {2, 4}) {
    if (all % tp != 0) continue;
    SCOPED_TRACE(tp);
    const Trained plain = train(tp, false), async = train(tp, true);
    const double tolerance = GetParam().tolerance;
    for (std::size_t i = 0; i < plain.losses.size(); ++i) {
      EXPECT_NEAR(async.losses[i], plain.losses[i], tolerance * plain.losses[i]);
    }
    EXPECT_LT(test::distance(async.weights, plain.weights), tolerance);
    EXPECT_LT(plain.losses.back(), plain.losses.front() * 1.2);  // and they are numbers
    EXPECT_EQ(plain.sends, 0);
    EXPECT_GT(async.sends, 0);
  }
}

TEST_P(AsyncTp, AnyTimingGivesTheSame) {
  if (world_size() % 2 != 0) GTEST_SKIP() << "needs an even number of ranks";
  EXPECT_EQ(train(2, true, 7).losses, train(2, true).losses);
}

}  // namespace
}  // namespace octet
