// Tensor parallelism with sequence parallelism against one rank that has the whole model.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/equivalence/harness.h"
#include "tests/equivalence/random_ids.h"
#include "tests/support/numbers.h"

namespace octet {
namespace {

class TensorParallelTest : public testing::Test {
 protected:
  static constexpr std::int64_t seq_len = 32, sequences = 8, steps = 20;
  static constexpr double lr = 1e-3;

  /// Everything divides by 4, fp8 included (multiples of 16 a rank); rows of 3 FSDP ranks are padded.
  static ModelConfig model_of(bool tied) {
    ModelConfig m;
    m.name = "parallel";
    m.dim = 64;
    m.layers = 2;
    m.heads = 8;
    m.kv_heads = 4;
    m.head_dim = 16;
    m.ffn_dim = 128;
    m.vocab_size = 64;
    m.tied_embedding = tied;
    m.finish();
    return m;
  }

  static std::vector<std::int32_t> ids(std::uint32_t stream, std::int64_t step) {
    constexpr std::int64_t n = sequences * seq_len;
    return learnable_ids({.seed = 5, .stream = stream}, step * n, n);
  }

  struct Trained {
    std::vector<double> losses, norms;
    std::vector<std::vector<float>> initial, scales, weights;
  };

  static Trained train(Harness& h, std::int64_t count) {
    Trained run;
    h.sharded().initialize(11);
    const ParameterList& list = h.sharded().parameters();
    for (const ParameterSpec& p : list.parameters) run.initial.push_back(h.whole(h.sharded().master(), p.name));
    for (std::int64_t step = 1; step <= count; ++step) {
      std::vector<float> scales;
      for (std::size_t i = 0; i < list.parameters.size(); ++i) {
        if (const float* scale = h.sharded().scales().scale(i)) scales.push_back(*scale);
      }
      run.scales.push_back(scales);
      run.losses.push_back(h.forward_backward(ids(0, step), ids(1, step)));
      h.sharded().finish_step(step, lr);
      run.norms.push_back(double{*h.sharded().norm().norm()});
    }
    for (const ParameterSpec& p : list.parameters) run.weights.push_back(h.whole(h.sharded().master(), p.name));
    return run;
  }

  /// A step of Adam moves a weight by at most about lr, so two runs differ by at most twice the sum of the learning
  /// rates, and an abs-max, hence a scale, by that part of it; on two sides of a power of two, by rounding to it.
  static void expect_scales_stay_together(const Trained& run, const Trained& expected, bool power_of_two) {
    for (std::size_t step = 0; step < run.scales.size(); ++step) {
      for (std::size_t i = 0; i < run.scales[step].size(); ++i) {
        const double amax = 448.0 / double{expected.scales[step][i]};
        const double moved = 2 * lr * static_cast<double>(step) / amax;
        const double ratio = double{expected.scales[step][i] / run.scales[step][i]};
        if (power_of_two && step > 0 && (ratio == 0.5 || ratio == 2.0)) continue;
        EXPECT_NEAR(ratio, 1.0, power_of_two ? 0.0 : moved) << "step " << step;
      }
    }
  }

  struct Layout {
    int replicas, tp;
  };

  /// All layouts of this program's ranks with tensor parallelism.
  static std::vector<Layout> layouts() {
    const int ranks = world_size();
    std::vector<Layout> all;
    for (const int tp : {2, 4}) {
      for (const int replicas : {1, 2}) {
        if (ranks % (tp * replicas) == 0 && sequences % (ranks / tp) == 0) all.push_back({replicas, tp});
      }
    }
    return all;
  }
};

struct TensorParallelCase {
  const char* name;
  Precision precision;
  bool tied, keep_gathered, float8_all_gather;
  double tolerance;  ///< of losses, relative
  const char* recipe = "tensorwise";
  AutoBool power_of_two = AutoBool::automatic;
};

void PrintTo(const TensorParallelCase& c, std::ostream* out) {
  *out << c.name;
}

/// Twice what a relative change of 2^-14 of the initial weights makes of the same training on one rank, at most in six
/// seeds (1.2e-3): with a tied embedding, which moves both ends of the model at once, rounding to fp8 magnifies the
/// bits in which tensor parallelism differs to as much (docs/numerics.md).
constexpr double tied_float8 = 2.5e-3;

class TensorParallel : public TensorParallelTest, public testing::WithParamInterface<TensorParallelCase> {
 protected:
  Harness::Options options(const Layout& layout) const {
    Harness::Options o;
    o.precision = GetParam().precision;
    o.float8.all_gather = GetParam().float8_all_gather ? AutoBool::yes : AutoBool::no;
    o.float8.recipe = GetParam().recipe;
    o.float8.round_scales_to_power_of_two = GetParam().power_of_two;
    o.dp_replicate = layout.replicas;
    o.tp = layout.tp;
    o.tp_keep_gathered = GetParam().keep_gathered;
    return o;
  }
};

INSTANTIATE_TEST_SUITE_P(
    Cases, TensorParallel,
    testing::Values(TensorParallelCase{"fp32", Precision::fp32, false, false, true, 2e-5},
                    TensorParallelCase{"fp32_tied", Precision::fp32, true, false, true, 2e-5},
                    TensorParallelCase{"fp32_kept", Precision::fp32, false, true, true, 2e-5},
                    TensorParallelCase{"bf16", Precision::bf16, false, false, true, 1e-3},
                    TensorParallelCase{"float8", Precision::float8, false, false, true, 1e-3},
                    TensorParallelCase{"float8_tied", Precision::float8, true, false, true, tied_float8},
                    TensorParallelCase{"float8_tied_bf16_gather", Precision::float8, true, false, false, tied_float8},
                    TensorParallelCase{"float8_kept", Precision::float8, false, true, true, 1e-3},
                    TensorParallelCase{"float8_bf16_gather", Precision::float8, false, false, false, 1e-3},
                    TensorParallelCase{"powers_of_two", Precision::float8, false, false, true, 1e-3, "tensorwise",
                                       AutoBool::yes},
                    TensorParallelCase{"delayed", Precision::float8, false, false, true, 1e-3, "delayed"},
                    TensorParallelCase{"delayed_powers_of_two", Precision::float8, false, true, false, 1e-3, "delayed",
                                       AutoBool::yes},
                    TensorParallelCase{"rowwise", Precision::float8, false, false, false, 1e-3, "rowwise"},
                    TensorParallelCase{"rowwise_kept", Precision::float8, true, true, false, 1e-3, "rowwise"},
                    TensorParallelCase{"gw_hp", Precision::float8, false, false, false, 1e-3, "rowwise_with_gw_hp"}),
    [](const auto& c) { return c.param.name; });

TEST_P(TensorParallel, TrainsAsOneRankDoes) {
  const auto all = layouts();
  if (all.empty()) GTEST_SKIP() << "tensor parallelism needs 2, 4 or 8 ranks";
  const TensorParallelCase& c = GetParam();
  Harness one = Harness::alone(model_of(c.tied), seq_len, options({1, 1}));
  const Trained expected = train(one, steps);
  EXPECT_LT(expected.losses.back(), expected.losses.front());
  for (const Layout& layout : all) {
    SCOPED_TRACE(fmt::format("{} replicas, tp {}", layout.replicas, layout.tp));
    Harness h(model_of(c.tied), seq_len, options(layout));
    const Trained run = train(h, steps);
    EXPECT_EQ(run.initial, expected.initial);
    EXPECT_EQ(run.scales.front(), expected.scales.front());
    for (std::size_t i = 0; i < run.losses.size(); ++i) {
      EXPECT_NEAR(run.losses[i], expected.losses[i], c.tolerance * expected.losses[i]) << "step " << i + 1;
      EXPECT_NEAR(run.norms[i], expected.norms[i], 50 * std::min(c.tolerance, 1e-3) * expected.norms[i])
          << "step " << i + 1;
    }
    expect_scales_stay_together(run, expected, float8_recipe(options(layout).float8)->power_of_two());
  }
}

/// Every initial weight up or down by 2^-14 of it, which is far below what bf16 and fp8 hold of it.
void nudge(Harness& h) {
  ShardedBuffer& master = h.sharded().master();
  for (std::size_t i = 0; i < master.layout().size(); ++i) {
    for (std::int64_t e = 0; e < master.layout().shard(i).elements(); ++e) {
      const std::uint64_t bits = random_bits({.seed = i, .stream = 1}, static_cast<std::uint64_t>(e));
      master.data(i)[e] *= 1.0f + std::ldexp(bits % 2 == 0 ? 1.0f : -1.0f, -14);
    }
  }
  h.sharded().weights_changed();
}

/// Largest relative difference of the losses.
double apart(const std::vector<double>& losses, const std::vector<double>& expected) {
  double largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(losses[i] / expected[i] - 1));
  }
  return largest;
}

using TensorParallelSpread = TensorParallelTest;
using TensorParallelGradients = TensorParallelTest;

/// What justifies tied_float8: a layout is no further from one rank than one rank from itself with other initial bits.
TEST_F(TensorParallelSpread, OfTiedFloat8IsThatOfItsRounding) {
  if (world_size() != 2) GTEST_SKIP() << "two ranks show it";
  const Harness::Options float8{.precision = Precision::float8};
  const auto losses = [](Harness h, std::uint64_t seed, bool nudged) {
    h.sharded().initialize(seed);
    if (nudged) nudge(h);
    std::vector<double> of_step;
    for (std::int64_t step = 1; step <= steps; ++step) {
      of_step.push_back(h.forward_backward(ids(0, step), ids(1, step)));
      h.sharded().finish_step(step, lr);
    }
    return of_step;
  };
  const auto alone = [&](std::uint64_t seed, bool nudged) {
    return losses(Harness::alone(model_of(true), seq_len, float8), seed, nudged);
  };
  double rounding = 0, layout = 0;  // means
  constexpr int seeds = 4;
  for (std::uint64_t seed = 11; seed < 11 + seeds; ++seed) {
    const auto expected = alone(seed, false);
    Harness::Options o = float8;
    o.tp = 2;
    rounding += apart(alone(seed, true), expected) / seeds;
    layout += apart(losses(Harness(model_of(true), seq_len, o), seed, false), expected) / seeds;
  }
  RecordProperty("nudged", fmt::format("{:.1e}", rounding));
  RecordProperty("tensor_parallel", fmt::format("{:.1e}", layout));
  EXPECT_LT(layout, 2 * rounding);
}

TEST_F(TensorParallelGradients, OfEveryTensor) {
  const auto all = layouts();
  if (all.empty()) GTEST_SKIP() << "tensor parallelism needs 2, 4 or 8 ranks";
  for (const bool tied : {false, true}) {
    Harness one = Harness::alone(model_of(tied), seq_len, {});
    one.sharded().initialize(11);
    one.forward_backward(ids(0, 1), ids(1, 1));
    one.sharded().finish_step(1, lr);
    for (const Layout& layout : all) {
      SCOPED_TRACE(fmt::format("{} replicas, tp {}{}", layout.replicas, layout.tp, tied ? ", tied" : ""));
      Harness h(model_of(tied), seq_len, {.dp_replicate = layout.replicas, .tp = layout.tp});
      h.sharded().initialize(11);
      h.forward_backward(ids(0, 1), ids(1, 1));
      h.sharded().finish_step(1, lr);
      for (const ParameterSpec& p : h.sharded().parameters().parameters) {
        const auto expected = one.whole(one.sharded().gradients(), p.name);
        const auto found = h.whole(h.sharded().gradients(), p.name);
        EXPECT_LT(test::distance(found, expected), 1e-5) << p.name;
      }
    }
  }
}

}  // namespace
}  // namespace octet
