#include "src/profile/timeline.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "src/base/error.h"
#include "tests/profile/scripted_device.h"

namespace octet {
namespace {

constexpr SpanInfo gemm{.name = "gemm", .kind = SpanKind::gemm, .bytes = 96};

/// A model's stream and one beside it, of a device whose clock the test sets.
class TimelineTest : public testing::Test {
 protected:
  /// Work that takes the device from `begin` to `end`.
  void work(Stream& stream, double begin, double end, const SpanInfo& info = gemm) {
    script_.device_time = begin;
    timed(stream, info, [&] { script_.device_time = end; });
  }

  test::Script script_;
  test::ScriptedDevice device_{script_};
  std::unique_ptr<Stream> model_ = device_.make_stream(), side_ = device_.make_stream();
};

TEST_F(TimelineTest, WithoutOneNothingIsTimed) {
  EXPECT_EQ(Timeline::current(), nullptr);
  EXPECT_EQ(Timeline::recording(), nullptr);
  bool done = false;
  timed(*model_, gemm, [&] { done = true; });
  EXPECT_TRUE(done);
}

TEST_F(TimelineTest, RecordsOnlyBetweenBeginAndEnd) {
  Timeline timeline(*model_);
  EXPECT_EQ(Timeline::current(), &timeline);
  EXPECT_EQ(Timeline::recording(), nullptr);
  work(*model_, 0, 1);
  timeline.begin();
  EXPECT_EQ(Timeline::recording(), &timeline);
  timeline.begin_step(7);
  work(*model_, 1, 2);
  timeline.end_step();
  const Recording first = timeline.end();
  work(*model_, 2, 3);
  EXPECT_EQ(first.spans.size(), 1u);
  ASSERT_EQ(first.steps.size(), 1u);
  EXPECT_EQ(first.steps[0].number, 7);
  timeline.begin();
  EXPECT_TRUE(timeline.end().spans.empty()) << "nothing is kept";
}

TEST_F(TimelineTest, TimesAreThoseOfTheDeviceAndNothingWaitsForThem) {
  Timeline timeline(*model_);
  timeline.name_stream(*side_, "gathers");
  script_.device_time = 100;
  timeline.begin();
  const int waits = script_.host_waits;
  EXPECT_GT(waits, 0) << "both clocks are read at one moment";
  for (int step = 0; step < 3; ++step) {
    script_.device_time = 100 + 10 * step;
    timeline.begin_step(step + 1);
    work(*side_, 100 + 10 * step + 1, 100 + 10 * step + 4, {.name = "all_gather", .kind = SpanKind::communication});
    work(*model_, 100 + 10 * step + 2, 100 + 10 * step + 3);
    timeline.end_step();
  }
  EXPECT_EQ(script_.host_waits, waits);
  const Recording r = timeline.end();
  EXPECT_GT(script_.host_waits, waits);
  ASSERT_EQ(r.spans.size(), 6u);
  EXPECT_EQ(r.streams, (std::vector<std::string>{"host", "model", "gathers"}));
  for (std::size_t i = 0; i < 6; ++i) {
    const double step = 10.0 * static_cast<double>(i / 2);
    EXPECT_DOUBLE_EQ(r.spans[i].begin, step + (i % 2 == 0 ? 1 : 2));
    EXPECT_DOUBLE_EQ(r.spans[i].end, step + (i % 2 == 0 ? 4 : 3));
    EXPECT_EQ(r.spans[i].stream, i % 2 == 0 ? 2 : 1);
  }
}

TEST_F(TimelineTest, ASpanKnowsWhatItIsFor) {
  Timeline timeline(*model_);
  timeline.begin();
  timeline.begin_step(1);
  {
    const UnitScope unit("block.3");
    const StepPartScope part(StepPart::backward);
    work(*model_, 1, 2);
    const StepPartScope again(StepPart::recompute);
    work(*side_, 2, 3,
         {.name = "all_gather", .kind = SpanKind::communication, .bytes = 8, .bus_bytes = 4, .group = "tp"});
  }
  work(*model_, 3, 4);
  timeline.end_step();
  const Recording r = timeline.end();
  ASSERT_EQ(r.spans.size(), 3u);
  EXPECT_EQ(r.spans[0].name, "gemm");
  EXPECT_EQ(r.spans[0].kind, SpanKind::gemm);
  EXPECT_EQ(r.spans[0].bytes, 96);
  EXPECT_EQ(r.spans[0].unit, "block.3");
  EXPECT_EQ(r.spans[0].part, StepPart::backward);
  EXPECT_EQ(r.spans[1].part, StepPart::recompute);
  EXPECT_EQ(r.spans[1].group, "tp");
  EXPECT_EQ(r.spans[1].bus_bytes, 4);
  EXPECT_EQ(r.streams.back(), "stream 2") << "one that nobody named";
  EXPECT_EQ(r.spans[2].unit, "");
  EXPECT_EQ(r.spans[2].part, StepPart::other);
}

TEST_F(TimelineTest, WorkThatThrowsLeavesNoSpan) {
  Timeline timeline(*model_);
  timeline.begin();
  timeline.begin_step(1);
  EXPECT_THROW(timed(*model_, gemm, [] { throw std::runtime_error("refused"); }), std::runtime_error);
  work(*model_, 1, 2);
  EXPECT_EQ(timeline.end().spans.size(), 1u);
}

TEST_F(TimelineTest, HostSpansAreOfTheHostsClock) {
  Timeline timeline(*model_);
  const HostSpan before("before it records");
  timeline.begin();
  timeline.begin_step(1);
  {
    const StepPartScope part(StepPart::data);
    const HostSpan span("read batch");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  timeline.end_step();
  const Recording r = timeline.end();
  ASSERT_EQ(r.spans.size(), 1u);
  EXPECT_EQ(r.spans[0].kind, SpanKind::host);
  EXPECT_EQ(r.spans[0].part, StepPart::data);
  EXPECT_EQ(r.spans[0].stream, Timeline::host_stream);
  EXPECT_GE(r.spans[0].end - r.spans[0].begin, 0.002);
  EXPECT_GE(r.spans[0].begin, r.steps[0].begin);
  EXPECT_LE(r.spans[0].end, r.steps[0].end);
  EXPECT_LE(r.steps[0].end, r.wall);
}

TEST_F(TimelineTest, TheCpusClockIsTheHosts) {
  const auto stream = cpu_device().make_stream();
  Timeline timeline(*stream);
  timeline.begin();
  timeline.begin_step(1);
  {
    const HostSpan around("around");
    timed(*stream, gemm, [] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); });
  }
  timeline.end_step();
  const Recording r = timeline.end();
  ASSERT_EQ(r.spans.size(), 2u);
  const Span &kernel = r.spans[0], &host = r.spans[1];
  EXPECT_GE(kernel.end - kernel.begin, 0.002);
  constexpr double apart = 1e-3;  // the moment at which both clocks are read as one
  EXPECT_GE(kernel.begin, host.begin - apart);
  EXPECT_LE(kernel.end, host.end + apart);
}

TEST_F(TimelineTest, StreamsOfAnotherDeviceHaveTheHostsClock) {
  Timeline timeline(*model_);
  const auto hosts = cpu_device().make_stream();
  timeline.begin();
  timeline.begin_step(1);
  timed(*hosts, gemm, [] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); });
  const Recording r = timeline.end();
  ASSERT_EQ(r.spans.size(), 1u);
  EXPECT_GE(r.spans[0].end - r.spans[0].begin, 0.002);
  EXPECT_LE(r.spans[0].end, r.wall);
  EXPECT_EQ(r.spans[0].stream, 2);
}

TEST_F(TimelineTest, IsNotSeenByWhatIsRunDryBesideIt) {
  Timeline timeline(*model_);
  timeline.begin();
  timeline.begin_step(1);
  {
    const TimelineUnseen unseen;
    EXPECT_EQ(Timeline::current(), nullptr);
    EXPECT_EQ(Timeline::recording(), nullptr);
    work(*side_, 1, 2);
  }
  EXPECT_EQ(Timeline::current(), &timeline);
  EXPECT_EQ(Timeline::recording(), &timeline);
  work(*model_, 2, 3);
  EXPECT_EQ(timeline.end().spans.size(), 1u);
}

TEST_F(TimelineTest, WrongUseIsABug) {
  Timeline timeline(*model_);
  EXPECT_THROW(Timeline second(*side_), Error);
  EXPECT_THROW(timeline.end(), Error);
  timeline.begin();
  EXPECT_THROW(timeline.begin(), Error);
}

}  // namespace
}  // namespace octet
