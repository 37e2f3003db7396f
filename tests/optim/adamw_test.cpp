#include "src/optim/adamw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "tests/support/numbers.h"

namespace octet {
namespace {

using test::random_values;

TEST(Decays, ByDefaultEveryParameter) {
  for (const char* name : {"tok_embeddings.weight", "layers.0.attention_norm.weight", "output.weight"}) {
    EXPECT_TRUE(decays({}, name)) << name;
  }
}

TEST(Decays, PatternsArePartsOfTheName) {
  OptimizerConfig config;
  config.no_decay = {"norm", "tok_embeddings"};
  EXPECT_FALSE(decays(config, "layers.11.attention_norm.weight"));
  EXPECT_FALSE(decays(config, "layers.0.ffn_norm.weight"));
  EXPECT_FALSE(decays(config, "norm.weight"));
  EXPECT_FALSE(decays(config, "tok_embeddings.weight"));
  EXPECT_TRUE(decays(config, "layers.0.attention.wq.weight"));
  EXPECT_TRUE(decays(config, "output.weight"));
}

/// One parameter with its state, beside the same in double.
struct Group {
  std::vector<float> parameter, gradient, m = std::vector<float>(n, 0.0f), v = m;
  std::vector<double> p_reference = test::doubles(parameter), m_reference = std::vector<double>(n, 0.0),
                      v_reference = m_reference;
  bool decay;
  float amax = 0;
  static constexpr std::size_t n = 37;

  Group(std::uint32_t id, bool d) : parameter(random_values(n, id)), gradient(n), decay(d) {}

  OptimizerSlice slice() {
    return {.parameter = parameter.data(),
            .gradient = gradient.data(),
            .first_moment = m.data(),
            .second_moment = v.data(),
            .n = n,
            .decay = decay,
            .amax = &amax};
  }
  /// torch.optim.AdamW's update, in double.
  void step(const OptimizerConfig& c, double lr, double t, double clip) {
    for (std::size_t i = 0; i < n; ++i) {
      const double g = double{gradient[i]} * clip;
      if (decay) p_reference[i] *= 1 - lr * c.weight_decay;
      m_reference[i] = c.beta1 * m_reference[i] + (1 - c.beta1) * g;
      v_reference[i] = c.beta2 * v_reference[i] + (1 - c.beta2) * g * g;
      const double m_hat = m_reference[i] / (1 - std::pow(c.beta1, t)),
                   v_hat = v_reference[i] / (1 - std::pow(c.beta2, t));
      p_reference[i] -= lr * m_hat / (std::sqrt(v_hat) + c.eps);
    }
  }
};

struct AdamW : testing::Test {
  std::unique_ptr<Stream> stream = cpu_device().make_stream();
  OptimizerConfig config{
      .lr = 0, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-6, .weight_decay = 0.5, .clip_norm = 1, .no_decay = {}};
  Group decayed{1, true}, plain{2, false};

  void step(double lr, std::int64_t t, const float* clip, const std::uint32_t* skip) {
    const OptimizerSlice slices[] = {decayed.slice(), plain.slice()};
    adamw_step(*stream, kernels_of(*stream), config, lr, t, slices, clip, skip);
  }
};

TEST_F(AdamW, StepsOfTwoGroupsAgainstDouble) {
  const float clip = 0.25f;
  const std::uint32_t go = 0;
  for (std::int64_t t = 1; t <= 5; ++t) {
    const double lr = 0.01 * static_cast<double>(t);
    for (Group* g : {&decayed, &plain}) {
      g->gradient = random_values(Group::n, static_cast<std::uint32_t>(10 * t + g->decay));
      g->step(config, lr, static_cast<double>(t), clip);
    }
    decayed.amax = plain.amax = 0;
    step(lr, t, &clip, &go);
    for (const Group* g : {&decayed, &plain}) {
      EXPECT_LT(test::distance(g->parameter, g->p_reference), 5e-7) << "step " << t;
      float amax = 0;
      for (const float p : g->parameter) amax = std::max(amax, std::abs(p));
      EXPECT_EQ(g->amax, amax);
    }
  }
}

TEST_F(AdamW, WeightDecayIsOfItsGroupAlone) {
  const float clip = 1;
  const std::uint32_t go = 0;
  const auto before = plain.parameter, before_decayed = decayed.parameter;
  step(0.1, 1, &clip, &go);  // gradients of zero
  EXPECT_EQ(plain.parameter, before);
  for (std::size_t i = 0; i < Group::n; ++i) EXPECT_FLOAT_EQ(decayed.parameter[i], before_decayed[i] * 0.95f);
}

TEST_F(AdamW, ARaisedFlagStopsEveryGroup) {
  const float clip = 1;
  const std::uint32_t stop = 1;
  decayed.gradient = plain.gradient = random_values(Group::n, 7);
  const auto before = plain.parameter, before_decayed = decayed.parameter;
  step(0.1, 1, &clip, &stop);
  EXPECT_EQ(plain.parameter, before);
  EXPECT_EQ(decayed.parameter, before_decayed);
  EXPECT_EQ(plain.m, std::vector<float>(Group::n, 0.0f));
  float amax = 0;
  for (const float p : before_decayed) amax = std::max(amax, std::abs(p));
  EXPECT_EQ(decayed.amax, amax) << "of the weights as they are";
}

}  // namespace
}  // namespace octet
