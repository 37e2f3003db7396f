// Whose calls are timed, and in which order.
#include "jobs/commbench/measure.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/support/forwarding_communicator.h"

namespace octet::commbench {
namespace {

/// A group of one that notes each of its calls in a log of several groups, and takes some time for it.
class Logging final : public test::ForwardingCommunicator {
 public:
  Logging(Stream& stream, char letter, std::string& log, std::chrono::milliseconds time)
      : ForwardingCommunicator(make_self_communicator(stream, {letter})), letter_(letter), log_(log), time_(time) {}

  void all_gather(const void* send, void* recv, std::int64_t count, DType dtype) override {
    log_ += letter_;
    std::this_thread::sleep_for(time_);
    inner().all_gather(send, recv, count, dtype);
  }

 private:
  char letter_;
  std::string& log_;
  std::chrono::milliseconds time_;
};

TEST(Measure, TakesTurnsAndTellsTheTwoApart) {
  const auto stream = cpu_device().make_stream();
  const auto control = make_self_communicator(*stream, "control");
  const std::vector<CommRecord> calls{{"all_gather", "world", 1, DType::f32, 16, 64, ""}};
  for (const bool plain_is_slow : {true, false}) {
    std::string log;
    const std::chrono::milliseconds slow(20), quick(0);
    Logging ours(*stream, 'A', log, plain_is_slow ? quick : slow);
    Logging plain(*stream, 'B', log, plain_is_slow ? slow : quick);
    const MeasureSettings settings{.warmup = 2, .iterations = 5, .check = 1, .row_seconds = 1000};
    const Measured got = measure(ours, &plain, calls, Form::training, settings, 1, *control);
    // The check of both, one round to see how long it takes, warm-up, iterations, and the check again.
    std::string turns;
    for (int round = 0; round < 1 + 1 + 2 + 5 + 1; ++round) turns += "AB";
    EXPECT_EQ(log, turns);
    EXPECT_EQ(got.wrong, 0);
    ASSERT_EQ(got.ours.us.size(), 5u);
    ASSERT_EQ(got.plain.us.size(), 5u);
    const Timing &longer = plain_is_slow ? got.plain : got.ours, &shorter = plain_is_slow ? got.ours : got.plain;
    EXPECT_GE(longer.us.front(), 19'999) << "at least the sleep, but for the digits of fp32";
    EXPECT_LT(shorter.median(), longer.median());
  }
}

TEST(Measure, AloneItHasNoOtherTimes) {
  const auto stream = cpu_device().make_stream();
  const auto control = make_self_communicator(*stream, "control");
  std::string log;
  Logging ours(*stream, 'A', log, {});
  const Measured got = measure(ours, nullptr, {{"all_gather", "world", 1, DType::f32, 16, 64, ""}}, Form::training,
                               {.warmup = 0, .iterations = 3, .check = 0}, 1, *control);
  EXPECT_EQ(log, std::string(1 + 3, 'A'));
  EXPECT_EQ(got.ours.us.size(), 3u);
  EXPECT_TRUE(got.plain.us.empty());
}

}  // namespace
}  // namespace octet::commbench
