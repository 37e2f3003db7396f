// Training with gradients that travel in bf16 against training with gradients that travel in fp32.
#include <gtest/gtest.h>

#include "tests/equivalence/harness.h"
#include "tests/equivalence/random_ids.h"
#include "tests/support/numbers.h"

namespace octet {
namespace {

struct WireLayout {
  int replicas, tp;
};

class WireTraining : public testing::TestWithParam<WireLayout> {
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
    std::vector<double> losses;
    std::vector<std::vector<float>> first_gradients;  ///< of every parameter, whole
  };

  static Trained train(Harness& h) {
    Trained run;
    h.sharded().initialize(11);
    for (std::int64_t step = 1; step <= steps; ++step) {
      run.losses.push_back(h.forward_backward(ids(0, step), ids(1, step)));
      h.sharded().finish_step(step, 1e-3);
      if (step > 1) continue;
      for (const ParameterSpec& p : h.sharded().parameters().parameters) {
        run.first_gradients.push_back(h.whole(h.sharded().gradients(), p.name));
      }
    }
    return run;
  }
};

INSTANTIATE_TEST_SUITE_P(Layouts, WireTraining, testing::Values(WireLayout{1, 1}, WireLayout{2, 1}, WireLayout{1, 2}),
                         [](const auto& c) { return fmt::format("replicas_{}_tp_{}", c.param.replicas, c.param.tp); });

/// bf16 keeps 8 bits: each rank's part of a gradient is off by 2^-9 at most and by less than half of that in the mean;
/// what the parts lose against each other when they are added is what the tolerance leaves room for.
TEST_P(WireTraining, Bf16FollowsFp32) {
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

}  // namespace
}  // namespace octet
