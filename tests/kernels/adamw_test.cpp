#include "kernels/adamw.h"

#include "kernels/cpu/cpu_kernels.h"
#include "tests/kernels/kernel_test.h"

namespace octet {
namespace {

using namespace test;

struct State {
  std::vector<float> parameter, first, second;
};

State random_state(std::int64_t n) {
  State s{random_values(n, 1), random_values(n, 2, 0.1), random_values(n, 3, 0.1)};
  for (float& v : s.second) v = v * v;
  return s;
}

struct Settings {
  double lr = 1e-2, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.1;
};

AdamWUpdate update_of(State& s, const std::vector<float>& gradient, int step, const Settings& by) {
  AdamWUpdate u;
  u.parameter = s.parameter.data();
  u.first_moment = s.first.data();
  u.second_moment = s.second.data();
  u.gradient = gradient.data();
  u.n = static_cast<std::int64_t>(gradient.size());
  u.lr = by.lr;
  u.beta1 = by.beta1;
  u.beta2 = by.beta2;
  u.eps = by.eps;
  u.weight_decay = by.weight_decay;
  u.bias1 = 1.0 - std::pow(by.beta1, step);
  u.bias2 = 1.0 - std::pow(by.beta2, step);
  return u;
}

/// torch.optim.adamw._single_tensor_adamw, one statement a line, on tensors of type T.
template <typename T>
struct TorchAdamW {
  std::vector<T> parameter, first, second;

  void step(const std::vector<float>& gradient, T gradient_scale, int step, const Settings& by) {
    const T step_size = static_cast<T>(by.lr / (1.0 - std::pow(by.beta1, step)));
    const T root = static_cast<T>(std::sqrt(1.0 - std::pow(by.beta2, step)));
    for (std::size_t i = 0; i < parameter.size(); ++i) {
      const T g = static_cast<T>(gradient[i]) * gradient_scale;
      parameter[i] *= static_cast<T>(1.0 - by.lr * by.weight_decay);
      first[i] = first[i] + static_cast<T>(1.0 - by.beta1) * (g - first[i]);
      second[i] *= static_cast<T>(by.beta2);
      second[i] += static_cast<T>(1.0 - by.beta2) * g * g;
      const T denominator = std::sqrt(second[i]) / root + static_cast<T>(by.eps);
      parameter[i] += -step_size * first[i] / denominator;
    }
  }
};

template <typename T>
TorchAdamW<T> torch_from(const State& s) {
  return {
      {s.parameter.begin(), s.parameter.end()}, {s.first.begin(), s.first.end()}, {s.second.begin(), s.second.end()}};
}

TEST(AdamW, HasTheBitsOfTorchsOrderAndStaysNearDouble) {
  for (const std::int64_t n : {1, 13, 2048, 5003}) {
    State s = random_state(n);
    auto torch = torch_from<float>(s);
    auto exact = torch_from<double>(s);
    const float clip = 0.37f;
    for (int step = 1; step <= 5; ++step) {
      const auto gradient = random_values(n, static_cast<std::uint32_t>(10 + step), 0.5);
      auto u = update_of(s, gradient, step, {});
      float amax = 0;
      u.gradient_scale = &clip;
      u.stats.amax = &amax;
      cpu::adamw(stream(), u);
      torch.step(gradient, clip, step, {});
      exact.step(gradient, static_cast<double>(clip), step, {});
      ASSERT_TRUE(same_bits(s.first, torch.first));
      ASSERT_TRUE(same_bits(s.second, torch.second));
      ASSERT_TRUE(same_bits(s.parameter, torch.parameter));
      StatsProbe{.amax = amax}.expect_of(s.parameter);
    }
    EXPECT_LT(relative_error(s.parameter, exact.parameter), 1e-6);
    EXPECT_LT(relative_error(s.second, exact.second), 1e-6);
  }
}

TEST(AdamW, GradientsInBf16HaveTheBitsOfTheSameValuesInFp32) {
  for (const std::int64_t n : {1, 13, 2048, 5003}) {
    State s = random_state(n), expected = s;
    const auto narrow = random_values<bf16>(n, 10, 0.5);
    const std::vector<float> wide(narrow.begin(), narrow.end());
    const float clip = 0.37f;
    auto of_wide = update_of(expected, wide, 2, {}), of_narrow = update_of(s, wide, 2, {});
    of_narrow.gradient = narrow.data();
    of_narrow.gradient_dtype = DType::bf16;
    of_wide.gradient_scale = of_narrow.gradient_scale = &clip;
    float amax = 0;
    of_narrow.stats.amax = &amax;
    cpu::adamw(stream(), of_wide);
    cpu::adamw(stream(), of_narrow);
    EXPECT_TRUE(same_bits(s.first, expected.first));
    EXPECT_TRUE(same_bits(s.second, expected.second));
    EXPECT_TRUE(same_bits(s.parameter, expected.parameter));
    StatsProbe{.amax = amax}.expect_of(s.parameter);
  }
}

TEST(AdamW, RoundsTheNewParameterTooUnlessItSkips) {
  for (const std::int64_t n : {1, 13, 2048, 5003}) {
    State s = random_state(n), expected = s;
    const auto gradient = random_values(n, 10, 0.5);
    const bf16 before(7.0f);
    std::vector<bf16> rounded(static_cast<std::size_t>(n) + 1, before);
    auto u = update_of(s, gradient, 2, {});
    u.rounded = rounded.data();
    EXPECT_EQ(u.bytes_moved(), 30 * n);
    std::uint32_t skip = 1;
    u.skip = &skip;
    cpu::adamw(stream(), u);
    EXPECT_TRUE(same_bits(rounded, std::vector<bf16>(rounded.size(), before)));
    skip = 0;
    cpu::adamw(stream(), u);
    cpu::adamw(stream(), update_of(expected, gradient, 2, {}));
    EXPECT_TRUE(same_bits(s.parameter, expected.parameter));
    std::vector<bf16> converted(rounded.size(), before);
    cpu::convert(stream(), {.x = expected.parameter.data(), .from = DType::f32, .y = converted.data(), .n = n});
    EXPECT_TRUE(same_bits(rounded, converted));
  }
}

/// As they are left: the old ones where it skips.
TEST(AdamW, CastsTheParametersThatItLeaves) {
  for (const std::int64_t n : {1, 13, 2048, 5003}) {
    for (const std::uint32_t skip : {0u, 1u}) {
      State s = random_state(n);
      const auto gradient = random_values(n, 10, 0.5);
      const float scale = 150;
      const e4m3 before(7.0f);
      std::vector<e4m3> codes(static_cast<std::size_t>(n) + 1, before), cast = codes;
      auto u = update_of(s, gradient, 2, {});
      u.float8 = {.y = codes.data(), .scale = &scale};
      u.skip = &skip;
      EXPECT_EQ(u.bytes_moved(), 29 * n);
      cpu::adamw(stream(), u);
      cpu::cast_to_float8(stream(),
                          {.x = s.parameter.data(), .from = DType::f32, .y = cast.data(), .n = n, .scale = &scale});
      EXPECT_TRUE(same_bits(codes, cast));
      EXPECT_EQ(same_bits(s.parameter, random_state(n).parameter), skip == 1);
    }
  }
}

TEST(AdamW, FirstStepMovesByTheLearningRate) {
  State s{{1, 1, 1, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}};
  cpu::adamw(stream(), update_of(s, {1e-3f, -5.0f, 0.0f, 100.0f}, 1,
                                 {.lr = 0.25, .beta1 = 0.9, .beta2 = 0.999, .eps = 0x1p-60, .weight_decay = 0.0}));
  EXPECT_NEAR(s.parameter[0], 0.75f, 1e-6f);
  EXPECT_NEAR(s.parameter[1], 1.25f, 1e-6f);
  EXPECT_EQ(s.parameter[2], 1.0f);
  EXPECT_NEAR(s.parameter[3], -0.25f, 1e-6f);
}

TEST(AdamW, DecayAloneAndNoGradientScale) {
  State s{{2, -4}, {0, 0}, {0, 0}};
  cpu::adamw(stream(), update_of(s, {0, 0}, 3, {.lr = 0.5, .weight_decay = 0.5}));
  EXPECT_EQ(s.parameter, (std::vector<float>{1.5f, -3.0f}));
}

TEST(AdamW, SkipLeavesEverythingUntouchedAndMeasuresIt) {
  State s = random_state(100);
  const State before = s;
  const std::vector<float> gradient(100, nan_f32);
  auto u = update_of(s, gradient, 1, {});
  const std::uint32_t skip = 1;
  float amax = 0.0f;
  std::uint32_t non_finite = 9;
  u.skip = &skip;
  u.stats = {.amax = &amax, .non_finite = &non_finite};
  cpu::adamw(stream(), u);
  EXPECT_TRUE(same_bits(s.parameter, before.parameter));
  EXPECT_TRUE(same_bits(s.first, before.first));
  EXPECT_TRUE(same_bits(s.second, before.second));
  StatsProbe{.amax = amax}.expect_of(before.parameter);
  EXPECT_EQ(non_finite, 9u);
}

TEST(AdamW, UpdatesWhenSkipIsZeroAndLeavesPaddingAndNonFiniteCountAlone) {
  State s = random_state(70);
  const State before = s;
  const auto gradient = random_values(64, 4);
  auto u = update_of(s, gradient, 1, {});
  const std::uint32_t skip = 0;
  std::uint32_t non_finite = 9;
  u.skip = &skip;
  u.stats.non_finite = &non_finite;
  cpu::adamw(stream(), u);
  for (std::size_t i = 0; i < 70; ++i) {
    EXPECT_EQ(s.parameter[i] != before.parameter[i], i < 64) << i;
    EXPECT_EQ(s.second[i] != before.second[i], i < 64) << i;
  }
  EXPECT_EQ(non_finite, 9u);
}

TEST(AdamW, SeveralHaveTheBitsOfEachAlone) {
  const auto updated = [](bool together) {
    std::vector<State> states;
    std::vector<std::vector<float>> gradients;
    std::vector<float> amaxes(3);
    AdamWUpdates updates;
    for (const std::int64_t n : {100, 0, 2049}) {
      states.push_back(random_state(n));
      gradients.push_back(random_values(n, 4));
    }
    for (std::size_t i = 0; i < states.size(); ++i) {
      updates.add(update_of(states[i], gradients[i], 2, {.weight_decay = i == 0 ? 0.0 : 0.1}));
      updates.updates[i].stats.amax = &amaxes[i];
    }
    if (together) cpu::adamw(stream(), updates);
    for (const AdamWUpdate& one : updates.all()) {
      if (!together) cpu::adamw(stream(), one);
    }
    return std::tuple(states[0].parameter, states[2].parameter, states[2].second, amaxes);
  };
  EXPECT_EQ(updated(true), updated(false));
  EXPECT_NE(std::get<0>(updated(true)), random_state(100).parameter);
}

TEST(AdamW, WhatDoesNotGoTogetherIsAnError) {
  AdamWUpdates updates;
  updates.add({.lr = 0.5, .stats = {}});
  EXPECT_THROW(updates.add({.lr = 0.25, .stats = {}}), Error);
  const std::uint32_t skip = 0;
  EXPECT_THROW(updates.add({.lr = 0.5, .skip = &skip, .stats = {}}), Error);
  EXPECT_NO_THROW(updates.add({.lr = 0.5, .weight_decay = 0.1, .stats = {}}));
  while (updates.count < AdamWUpdates::most) updates.add({.lr = 0.5, .stats = {}});
  EXPECT_THROW(updates.add({.lr = 0.5, .stats = {}}), Error);
}

TEST(AdamW, EmptyShardRaisesNothing) {
  State s;
  float amax = 0.5f;
  auto u = update_of(s, {}, 1, {});
  u.stats.amax = &amax;
  cpu::adamw(stream(), u);
  EXPECT_EQ(amax, 0.5f);
}

TEST(AdamW, SameBitsForAnyThreads) {
  const auto gradient = random_values(20011, 4);
  expect_same_bits_for_any_threads([&] {
    State s = random_state(20011);
    cpu::adamw(stream(), update_of(s, gradient, 2, {}));
    return s.parameter;
  });
}

}  // namespace
}  // namespace octet
