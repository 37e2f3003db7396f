#include "src/optim/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

namespace octet {
namespace {

constexpr double peak = 3e-4;

std::vector<ScheduleKind> every_kind() {
  std::vector<ScheduleKind> kinds;
  for (const std::string_view name : names_of(ScheduleKind{})) kinds.push_back(*value_named<ScheduleKind>(name));
  return kinds;
}

std::vector<double> rates(const ScheduleConfig& schedule, std::int64_t steps) {
  std::vector<double> all;
  for (std::int64_t step = 1; step <= steps; ++step) all.push_back(learning_rate(schedule, 1.0, step, steps));
  return all;
}

void expect_rates(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-15) << "step " << i + 1;
}

TEST(Schedule, WarmupStableDecay) {
  const ScheduleConfig s{.kind = ScheduleKind::wsd, .warmup_steps = 4, .decay_steps = 3};
  expect_rates(rates(s, 10), {0.25, 0.5, 0.75, 1, 1, 1, 1, 0.75, 0.5, 0.25});
}

TEST(Schedule, TheRatioIsWhereTheDecayWouldEnd) {
  const ScheduleConfig s{.kind = ScheduleKind::wsd, .warmup_steps = 0, .decay_steps = 3, .min_lr_ratio = 0.2};
  expect_rates(rates(s, 5), {1, 1, 0.8, 0.6, 0.4});
}

TEST(Schedule, WithoutDecayTheRateStays) {
  expect_rates(rates({.kind = ScheduleKind::wsd, .warmup_steps = 2}, 5), {0.5, 1, 1, 1, 1});
  expect_rates(rates({.kind = ScheduleKind::constant, .warmup_steps = 2, .decay_steps = 3}, 5), {0.5, 1, 1, 1, 1});
}

TEST(Schedule, CosineFallsOverAllThatFollowsWarmup) {
  const ScheduleConfig s{.kind = ScheduleKind::cosine, .warmup_steps = 2, .decay_steps = 0, .min_lr_ratio = 0.1};
  std::vector<double> expected{0.5, 1};
  for (int i = 1; i <= 8; ++i) expected.push_back(0.1 + 0.9 * 0.5 * (1 + std::cos(std::numbers::pi * i / 9.0)));
  expect_rates(rates(s, 10), expected);
}

TEST(Schedule, EveryKindFallsWhereItsDecaySaysItDoes) {
  for (const ScheduleKind kind : every_kind()) {
    const std::vector<double> got = rates({.kind = kind, .warmup_steps = 2, .decay_steps = 3}, 10);
    const auto falls = std::find_if(got.begin() + 2, got.end(), [](double rate) { return rate < 1; });
    const Decay decay = decay_of(kind);
    EXPECT_EQ(falls - got.begin() + 1, decay == Decay::never        ? 11
                                       : decay == Decay::last_steps ? 8
                                                                    : 3)
        << name_of(kind);
  }
}

TEST(Schedule, MessagesNameTheKindsOfADecay) {
  EXPECT_EQ(kinds_with(Decay::never), "constant");
  EXPECT_EQ(kinds_with(Decay::last_steps), "wsd");
  EXPECT_EQ(kinds_with(Decay::after_warm_up), "cosine");
  EXPECT_EQ(schedule_kinds_help(),
            "wsd: stable, then a linear decay over the last decay_steps. cosine: decays from the warm-up to the end.");
}

TEST(Schedule, WarmupLongerThanTheRunNeverReachesThePeak) {
  expect_rates(rates({.kind = ScheduleKind::wsd, .warmup_steps = 8, .decay_steps = 0}, 3), {0.125, 0.25, 0.375});
}

using enum ScheduleExtend;

TEST(Schedule, AConstantExtensionHoldsTheLastRate) {
  ScheduleConfig s{.kind = ScheduleKind::wsd, .warmup_steps = 1, .decay_steps = 3};
  s.extensions = {{constant, 6}};
  expect_rates(rates(s, 9), {1, 1, 1, 0.75, 0.5, 0.25, 0.25, 0.25, 0.25});
  s = {.kind = ScheduleKind::cosine, .min_lr_ratio = 0.5, .extensions = {{constant, 3}}};
  const std::vector<double> got = rates(s, 5);
  EXPECT_GT(got[2], 0.5);
  EXPECT_EQ(got[3], got[2]);
  EXPECT_EQ(got[4], got[2]);
}

TEST(Schedule, ARewarmedOneRisesFromTheLastRateAndDecaysToItsOwnEnd) {
  const ScheduleConfig s{
      .kind = ScheduleKind::wsd, .warmup_steps = 2, .decay_steps = 3, .extensions = {{rewarm, 6}, {rewarm, 12}}};
  const double last = 0.25, middle = (1 + last) / 2;
  expect_rates(rates(s, 17), {0.5, 1, 1, 0.75, 0.5, last,  //
                              middle, 1, 1, 0.75, 0.5, last, middle, 1, 0.75, 0.5, last});
  const ScheduleConfig cosine{.kind = ScheduleKind::cosine, .min_lr_ratio = 0.1, .extensions = {{rewarm, 4}}};
  const std::vector<double> twice = rates(cosine, 8);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(twice[i], twice[i + 4]) << i;  // without a warm-up, the whole shape again
}

TEST(Schedule, OneExtensionAfterAnother) {
  const ScheduleConfig s{.kind = ScheduleKind::wsd, .decay_steps = 1, .extensions = {{constant, 2}, {rewarm, 4}}};
  expect_rates(rates(s, 7), {1, 0.5, 0.5, 0.5, 1, 1, 0.5});
  const ScheduleConfig other{.kind = ScheduleKind::wsd, .decay_steps = 1, .extensions = {{rewarm, 2}, {constant, 4}}};
  expect_rates(rates(other, 6), {1, 0.5, 1, 0.5, 0.5, 0.5});
}

TEST(Schedule, WhatIsAddedLaterChangesNoRateBefore) {
  for (const ScheduleKind kind : every_kind()) {
    ScheduleConfig s{.kind = kind, .warmup_steps = 2, .decay_steps = 3};
    std::vector<double> before = rates(s, 10);
    for (const std::int64_t end : {20, 30, 40}) {
      s.extensions.push_back({end == 30 ? constant : rewarm, end - 10});
      const std::vector<double> now = rates(s, end);
      EXPECT_TRUE(std::equal(before.begin(), before.end(), now.begin())) << name_of(kind) << " to " << end;
      before = now;
    }
  }
}

TEST(Schedule, NoStepHasARateOfZeroOrAboveThePeak) {
  for (const ScheduleKind kind : every_kind()) {
    for (const std::int64_t steps : {1, 2, 3, 10, 1000}) {
      for (const std::int64_t warmup : {0, 1, 2}) {
        const ScheduleConfig s{
            .kind = kind, .warmup_steps = warmup, .decay_steps = std::max<std::int64_t>(0, steps - warmup)};
        for (std::int64_t step = 1; step <= steps; ++step) {
          const double lr = learning_rate(s, peak, step, steps);
          EXPECT_GT(lr, 0.0) << name_of(kind) << " step " << step << " of " << steps;
          EXPECT_LE(lr, peak) << name_of(kind) << " step " << step << " of " << steps;
        }
      }
    }
  }
}

}  // namespace
}  // namespace octet
