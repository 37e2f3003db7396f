#include "checkpoints/save/save_interval.h"

#include <gtest/gtest.h>

#include <cmath>

#include "checkpoints/save/saver.h"
#include "src/base/error.h"

namespace octet::checkpoint {
namespace {

constexpr Interval automatic(int devices) {
  return {.kind = Interval::Kind::automatic, .devices = devices};
}

TEST(AutomaticInterval, IsDalysOptimum) {
  // The table of costs and failure rates that the default comes from: minutes for 128, 256 and 512 devices.
  const double minutes[] = {63, 44, 31};
  for (int i = 0; i < 3; ++i) {
    const double seconds = automatic_seconds(automatic(128 << i), {.stall_seconds = 5});
    EXPECT_NEAR(seconds / 60, std::min(minutes[i], longest_automatic_seconds / 60), 0.6) << (128 << i) << " devices";
  }
}

TEST(AutomaticInterval, LosesLessThanItsNeighbours) {
  const double cost = 3;
  for (const int devices : {300, 1000, 5000}) {
    const Interval interval = automatic(devices);
    const double between = interval.failure_gpu_hours * 3600 / devices;
    // Expected time per second of work with exponentially distributed stops, restart free (Daly's full model).
    const auto expected = [&](double t) { return between * std::expm1((t + cost) / between) / t; };
    const double best = automatic_seconds(interval, {.stall_seconds = cost});
    ASSERT_LT(best, longest_automatic_seconds);
    ASSERT_GT(best, shortest_automatic_seconds);
    EXPECT_LT(expected(best), expected(best * 0.9));
    EXPECT_LT(expected(best), expected(best * 1.1));
  }
}

TEST(AutomaticInterval, KeepsToItsBounds) {
  EXPECT_EQ(automatic_seconds(automatic(8), {}), shortest_automatic_seconds) << "nothing measured yet";
  EXPECT_EQ(automatic_seconds(automatic(100'000), {.stall_seconds = 1e-6}), shortest_automatic_seconds);
  EXPECT_EQ(automatic_seconds(automatic(1), {.stall_seconds = 100}), longest_automatic_seconds);
  EXPECT_EQ(automatic_seconds(automatic(1'000'000'000), {.stall_seconds = 1000}), shortest_automatic_seconds)
      << "stops come faster than a checkpoint";
}

TEST(AutomaticInterval, IsNotShorterThanTheBackgroundWrite) {
  EXPECT_EQ(automatic_seconds(automatic(8), {.stall_seconds = 1e-6, .write_seconds = 200}),
            std::max(200.0, automatic_seconds(automatic(8), {.stall_seconds = 1e-6})));
  EXPECT_EQ(automatic_seconds(automatic(8), {.stall_seconds = 1, .write_seconds = 9000}), 9000);
}

TEST(AutomaticInterval, RefusesRatesThatAreNone) {
  for (const double hours : {0.0, -1.0, std::nan("")}) {
    Interval interval = automatic(8);
    interval.failure_gpu_hours = hours;
    EXPECT_THROW(automatic_seconds(interval, {}), Error) << hours;
  }
  EXPECT_THROW(automatic_seconds(automatic(0), {}), Error);
}

TEST(IsDue, AtMultiplesOfSteps) {
  const Interval every_five{.kind = Interval::Kind::steps, .steps = 5};
  for (std::int64_t step = 0; step <= 20; ++step) {
    EXPECT_EQ(is_due(every_five, {}, {.step = step, .seconds_since_save = 1e9}), step > 0 && step % 5 == 0) << step;
  }
  EXPECT_FALSE(is_due(every_five, {}, {.step = 10, .last_saved = 10})) << "resumed from it";
  EXPECT_TRUE(is_due(every_five, {}, {.step = 10, .last_saved = 9}));
}

TEST(IsDue, AfterSeconds) {
  const Interval interval{.kind = Interval::Kind::seconds, .seconds = 90};
  EXPECT_FALSE(is_due(interval, {}, {.step = 3, .seconds_since_save = 89.9}));
  EXPECT_TRUE(is_due(interval, {}, {.step = 3, .seconds_since_save = 90}));
  EXPECT_FALSE(is_due(interval, {}, {.step = 3, .last_saved = 3, .seconds_since_save = 90}));
}

TEST(IsDue, AutomaticFollowsTheMeasurement) {
  const Position position{.step = 3, .seconds_since_save = shortest_automatic_seconds};
  EXPECT_TRUE(is_due(automatic(8), {}, position));
  EXPECT_FALSE(is_due(automatic(8), {.stall_seconds = 1}, position));
}

TEST(IsDue, NeverWhenOff) {
  EXPECT_FALSE(is_due({}, {}, {.step = 100, .seconds_since_save = 1e9}));
}

TEST(AutomaticInterval, TheCommitIsPartOfTheStall) {
  SaveReport report;
  report.stall_seconds = 1;
  report.commit_seconds = 3;
  report.write_seconds = 20;
  const MeasuredCost cost = cost_of(report);
  EXPECT_EQ(cost.stall_seconds, 4);
  EXPECT_EQ(cost.write_seconds, 20);
}

TEST(OldestAllowed, AutomaticIsTwiceTheInterval) {
  using Kind = Interval::Kind;
  const MeasuredCost cost{.stall_seconds = 1, .write_seconds = 2};
  const Interval twice{.kind = Kind::automatic};
  EXPECT_EQ(oldest_allowed(twice, {.kind = Kind::steps, .steps = 250}, cost).steps, 500);
  EXPECT_EQ(oldest_allowed(twice, {.kind = Kind::seconds, .seconds = 90}, cost).seconds, 180);
  const Interval of_automatic = oldest_allowed(twice, automatic(1000), cost);
  EXPECT_EQ(of_automatic.kind, Kind::seconds);
  EXPECT_EQ(of_automatic.seconds, 2 * automatic_seconds(automatic(1000), cost));
  EXPECT_EQ(oldest_allowed({.kind = Kind::steps, .steps = 7}, automatic(8), cost).steps, 7) << "as given";
}

TEST(OldestAllowed, AnAgeThatIsReachedIsTooOld) {
  using Kind = Interval::Kind;
  const Interval steps{.kind = Kind::steps, .steps = 10}, seconds{.kind = Kind::seconds, .seconds = 10};
  EXPECT_FALSE(is_too_old({.steps = 9, .seconds = 1e9}, steps));
  EXPECT_TRUE(is_too_old({.steps = 10, .seconds = 0}, steps));
  EXPECT_FALSE(is_too_old({.steps = 1'000'000, .seconds = 9.9}, seconds));
  EXPECT_TRUE(is_too_old({.steps = 0, .seconds = 10}, seconds));
  EXPECT_FALSE(is_too_old({.steps = 1'000'000, .seconds = 1e9}, {.kind = Kind::off}));
}

}  // namespace
}  // namespace octet::checkpoint
