// Training with recompute against the same training without, on every layout of the program's ranks: the same bits.
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "tests/equivalence/harness.h"
#include "tests/equivalence/random_ids.h"
#include "tests/support/numbers.h"

namespace octet {
namespace {

class Recomputing : public testing::Test {
 protected:
  static constexpr std::int64_t seq_len = 32, sequences_a_rank = 2, steps = 2;

  static ModelConfig model() {
    ModelConfig m{.name = "recomputing",
                  .dim = 64,
                  .layers = 4,
                  .heads = 8,
                  .kv_heads = 4,
                  .head_dim = 16,
                  .ffn_dim = 128,
                  .vocab_size = 64};
    m.finish();
    return m;
  }

  struct Trained {
    std::vector<double> losses;
    std::vector<std::vector<float>> gradients, weights;
  };

  /// Micro-batches of one sequence: several a step.
  static Trained train(const Harness::Options& options) {
    Harness h(model(), seq_len, options);
    h.sharded().initialize(11);
    Trained run;
    const auto pieces = [&](ShardedBuffer& buffer) {
      std::vector<std::vector<float>> all;
      for (std::size_t i = 0; i < buffer.layout().size(); ++i) {
        all.emplace_back(buffer.data(i), buffer.data(i) + buffer.layout().shard(i).elements());
      }
      return all;
    };
    const std::int64_t n = sequences_a_rank * seq_len * h.mesh().dp().size();
    for (std::int64_t step = 1; step <= steps; ++step) {
      run.losses.push_back(h.forward_backward(random_ids({.seed = 7, .stream = 0}, step * n, n),
                                              random_ids({.seed = 7, .stream = 1}, step * n, n)));
      h.sharded().finish_step(step, 1e-3);
    }
    run.gradients = pieces(h.sharded().gradients());
    run.weights = pieces(h.sharded().master());
    return run;
  }

  static void expect_same(const Trained& run, const Trained& expected) {
    EXPECT_EQ(run.losses, expected.losses);
    for (std::size_t i = 0; i < expected.weights.size(); ++i) {
      EXPECT_TRUE(test::same_bits(run.gradients[i], expected.gradients[i])) << "parameter " << i;
      EXPECT_TRUE(test::same_bits(run.weights[i], expected.weights[i])) << "parameter " << i;
    }
  }

  static std::vector<std::pair<std::string, RecomputeConfig>> ways() {
    return {{"full", {.mode = RecomputeMode::full}},
            {"full, every 2", {.mode = RecomputeMode::full, .every = 2}},
            {"elementwise", {.mode = RecomputeMode::selective, .preset = RecomputePreset::elementwise}},
            {"ffn", {.mode = RecomputeMode::selective, .preset = RecomputePreset::ffn}},
            {"linears", {.mode = RecomputeMode::selective, .preset = RecomputePreset::linears}},
            {"inputs", {.mode = RecomputeMode::selective, .keep = {"attention_input", "ffn_input", "ffn_product"}}},
            {"linears, every 2", {.mode = RecomputeMode::selective, .preset = RecomputePreset::linears, .every = 2}}};
  }

  /// What travels: (group, operation, unit) -> times, of one micro-batch.
  using Calls = std::map<std::tuple<std::string, std::string, std::string>, int>;

  static Calls calls(Harness::Options options) {
    options.tp = 2;
    Harness h(model(), seq_len, options);
    h.sharded().initialize(1);
    h.communication.clear();
    const std::vector<std::int32_t> tokens(static_cast<std::size_t>(seq_len * h.mesh().dp().size()), 3);
    h.forward_backward(tokens, tokens);
    Calls all;
    for (const CommRecord& r : h.communication.records()) ++all[{r.group, r.operation, r.unit}];
    return all;
  }
};

struct RecomputeCase {
  const char* name;
  Precision precision;
  bool keep_gathered, float8_all_gather;
  const char* recipe = "tensorwise";
  std::int64_t bf16_first_layers = 0;
  Float8Accumulate accumulate = Float8Accumulate::fp32;
};

void PrintTo(const RecomputeCase& c, std::ostream* out) {
  *out << c.name;
}

class RecomputeTraining : public Recomputing, public testing::WithParamInterface<RecomputeCase> {};

INSTANTIATE_TEST_SUITE_P(Cases, RecomputeTraining,
                         testing::Values(RecomputeCase{"fp32", Precision::fp32, false, true},
                                         RecomputeCase{"bf16", Precision::bf16, false, true},
                                         RecomputeCase{"bf16_kept", Precision::bf16, true, true},
                                         RecomputeCase{"float8", Precision::float8, false, true},
                                         RecomputeCase{"float8_kept", Precision::float8, true, true},
                                         RecomputeCase{"float8_bf16_gather", Precision::float8, false, false},
                                         RecomputeCase{"delayed", Precision::float8, false, true, "delayed"},
                                         RecomputeCase{"delayed_mixed", Precision::float8, true, true, "delayed", 1},
                                         RecomputeCase{"rowwise", Precision::float8, false, false, "rowwise"},
                                         RecomputeCase{"rowwise_kept", Precision::float8, true, false, "rowwise"},
                                         RecomputeCase{"gw_hp", Precision::float8, false, false, "rowwise_with_gw_hp"},
                                         RecomputeCase{"hopper", Precision::float8, false, true, "tensorwise", 0,
                                                       Float8Accumulate::hopper}),
                         [](const auto& c) { return c.param.name; });

/// More than two ranks, which wait for each other on a small machine, take one layout and two ways.
TEST_P(RecomputeTraining, HasTheSameBits) {
  const RecomputeCase& c = GetParam();
  const int world = world_size();
  const bool many = world > 2;
  const auto all = many ? std::vector{ways().front(), ways().back()} : ways();
  for (const int tp : many ? std::vector{world % 4 == 0 ? 4 : 1} : std::vector{1, 2}) {
    if (world % tp != 0 || (tp == 1 && c.keep_gathered)) continue;
    Harness::Options options;
    options.precision = c.precision;
    options.float8.all_gather = c.float8_all_gather ? AutoBool::yes : AutoBool::no;
    options.float8.recipe = c.recipe;
    options.float8.bf16_first_layers = c.bf16_first_layers;
    options.float8.accumulate = c.accumulate;
    options.tp = tp;
    options.tp_keep_gathered = c.keep_gathered;
    const Trained expected = train(options);
    for (const auto& [name, way] : all) {
      SCOPED_TRACE(fmt::format("tp {}, {}", tp, name));
      options.recompute = way;
      expect_same(train(options), expected);
    }
  }
}

using RecomputeTraffic = Recomputing;

/// Blocks 0 to 2 of 4 are made again: in each the inputs of q, k, v and of w1, w3 are gathered once more, unless they
/// are kept or no linear that reads them runs again, and the result of wo is scattered once more where it is not kept.
/// Nothing else travels: no abs-max, no weights, no result of w2.
TEST_F(RecomputeTraffic, IsWhatIsMissing) {
  if (world_size() != 2) GTEST_SKIP() << "two ranks show it";
  struct Expected {
    const char* way;
    int gathers, scatters, gathers_kept;  ///< more than without; with tp_keep_gathered
  };
  const std::map<std::string, Expected> expected = {{"full", {"full", 2, 1, 2}},
                                                    {"elementwise", {"elementwise", 0, 0, 2}},
                                                    {"ffn", {"ffn", 1, 0, 2}},
                                                    {"linears", {"linears", 2, 1, 2}},
                                                    {"inputs", {"inputs", 2, 1, 0}}};
  for (const Precision precision : {Precision::fp32, Precision::float8}) {
    const std::string scatter = precision == Precision::fp32 ? "reduce_scatter" : "all_to_all";
    for (const bool keep : {false, true}) {
      Harness::Options options;
      options.precision = precision;
      options.tp_keep_gathered = keep;
      const Calls without = calls(options);
      for (const auto& [name, way] : ways()) {
        if (!expected.contains(name)) continue;
        SCOPED_TRACE(fmt::format("{} {}{}", name_of(precision), name, keep ? ", kept" : ""));
        const Expected& e = expected.at(name);
        Calls more = without;
        for (const char* unit : {"block.0", "block.1", "block.2"}) {
          more[{"tp", "all_gather", unit}] += keep ? e.gathers_kept : e.gathers;
          more[{"tp", scatter, unit}] += e.scatters;
        }
        options.recompute = way;
        EXPECT_EQ(calls(options), more);
      }
    }
  }
}

}  // namespace
}  // namespace octet
