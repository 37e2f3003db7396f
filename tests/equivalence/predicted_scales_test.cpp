// A run in which the update leaves the fp8 weights, by predicted scales or by known ones, beside one that casts all
// weights after the update: the same bits, also where a prediction is wrong and where an update is skipped.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/equivalence/harness.h"
#include "tests/equivalence/random_ids.h"
#include "tests/support/numbers.h"

namespace octet {
namespace {

class PredictedScales : public testing::TestWithParam<const char*> {
 protected:
  static constexpr std::int64_t seq_len = 16, tokens = 4 * seq_len, steps = 12, skipped = 7;

  struct Outcome {
    std::vector<double> losses;
    std::vector<float> masters, inverse_scales;
    int right = 0, wrong = 0;  ///< predictions
  };

  /// `anew`: gathered weights are let go at each update. It is the poison that lets them go.
  static Outcome train(const char* recipe, bool anew) {
    Harness::Options o{.precision = Precision::float8};
    o.float8.recipe = recipe;
    o.zero = Zero::two;
    o.poison = anew;
    ModelConfig model{.name = "predicted",
                      .dim = 48,
                      .layers = 2,
                      .heads = 4,
                      .kv_heads = 2,
                      .head_dim = 12,
                      .ffn_dim = 112,
                      .vocab_size = 64};
    model.finish();
    Harness h = Harness::alone(model, seq_len, o);
    ShardedModel& sharded = h.sharded();
    sharded.initialize(17);
    Outcome out;
    for (std::int64_t step = 1; step <= steps; ++step) {
      const auto ids = [&](std::uint32_t stream) {
        return learnable_ids({.seed = 3, .stream = stream}, step * tokens, tokens);
      };
      out.losses.push_back(h.forward_backward(ids(0), ids(1)));
      if (step == skipped) sharded.gradients().data(0)[0] = NAN;
      sharded.finish_step(step, 2e-3);
      EXPECT_EQ(*sharded.norm().skip(), step >= skipped ? 1u : 0u);
      const WeightScales& scales = sharded.scales();
      for (std::size_t i = 0; i < sharded.parameters().parameters.size(); ++i) {
        if (scales.scale(i) == nullptr) continue;
        out.inverse_scales.push_back(*scales.inverse(i));
        if (scales.prediction(i).leader != nullptr) {
          ++(*scales.prediction(i).scale == *scales.scale(i) ? out.right : out.wrong);
        }
      }
      if (step % 2 == 0) {  // a validation finds what the update has left, and the next step what the validation has
        const auto seen = ids(2), wanted = ids(3);
        float loss = 0;
        sharded.evaluate({seen.data(), wanted.data(), 1.0f, &loss});
        out.losses.push_back(loss);
      }
    }
    out.losses.push_back(h.forward_backward(learnable_ids({}, 0, tokens), learnable_ids({}, 1, tokens)));
    const float* all = sharded.master().all();
    out.masters.assign(all, all + sharded.master().layout().elements());
    return out;
  }
};

INSTANTIATE_TEST_SUITE_P(Recipes, PredictedScales, testing::Values("tensorwise", "delayed"),
                         [](const auto& recipe) { return std::string(recipe.param); });

TEST_P(PredictedScales, ChangeNoBit) {
  const Outcome anew = train(GetParam(), true), left = train(GetParam(), false);
  EXPECT_EQ(left.losses, anew.losses);
  EXPECT_TRUE(test::same_bits(left.masters, anew.masters));
  EXPECT_TRUE(test::same_bits(left.inverse_scales, anew.inverse_scales));
  const bool predicts = GetParam() == std::string_view("tensorwise");
  EXPECT_EQ(left.right > 0, predicts) << "of " << left.right + left.wrong;
  EXPECT_EQ(left.wrong > 0, predicts) << "of " << left.right + left.wrong;
}

}  // namespace
}  // namespace octet
