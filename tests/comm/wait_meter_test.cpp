#include "src/comm/wait_meter.h"

#include <gtest/gtest.h>

#include "src/comm/trace.h"
#include "tests/support/idle_gpu.h"

namespace octet {
namespace {

/// A device whose events are complete, and have a time, when the test says so.
class Clocked final : public test::IdleGpu {
 public:
  struct At final : Event {
    double time = 0;
    bool done = false;
    bool complete() const override { return done; }
    void synchronize() const override {}
    double seconds_since(const Event& earlier) const override { return time - dynamic_cast<const At&>(earlier).time; }
  };
  struct Queue final : Stream {
    explicit Queue(Clocked& d) : owner(d) {}
    Device& device() const override { return owner; }
    void record(Event& event) override {
      auto& at = dynamic_cast<At&>(event);
      at.time = owner.now;
      at.done = false;
      owner.recorded.push_back(&at);
    }
    void wait(const Event&) override {}
    void synchronize() override {}
    Clocked& owner;
  };

  std::unique_ptr<Stream> make_stream(StreamPriority) override { return std::make_unique<Queue>(*this); }
  std::unique_ptr<Event> make_event() override { return std::make_unique<At>(); }
  std::unique_ptr<Event> make_timing_event() override {
    ++made;
    return std::make_unique<At>();
  }

  double now = 0;
  int made = 0;
  std::vector<At*> recorded;
};

TEST(WaitMeter, AddsWhatADeviceHasDoneAndWaitsForNothing) {
  Clocked device;
  const auto stream = device.make_stream(StreamPriority::normal);
  WaitMeter meter;
  for (int i = 0; i < 3; ++i) {
    device.now = 10 * i;
    meter.begin(*stream);
    device.now += i + 1;
    meter.end(*stream);
  }
  EXPECT_EQ(meter.take(), 0);
  for (int i = 0; i < 4; ++i) device.recorded[static_cast<std::size_t>(i)]->done = true;  // the first two pairs
  EXPECT_EQ(meter.take(), 3);
  EXPECT_EQ(meter.take(), 0);
  const int made = device.made;
  meter.begin(*stream);  // with events that were used before
  meter.end(*stream);
  EXPECT_EQ(device.made, made);
  for (Clocked::At* at : device.recorded) at->done = true;
  EXPECT_EQ(meter.take(), 3);
}

/// As the communicators of one group of calls.
TEST(WaitMeter, OfPairsThatNestTheOutermostCounts) {
  Clocked device;
  const auto stream = device.make_stream(StreamPriority::normal), beside = device.make_stream(StreamPriority::normal);
  WaitMeter meter;
  meter.begin(*stream);
  device.now = 1;
  meter.begin(*beside);
  device.now = 3;
  meter.end(*beside);
  device.now = 4;
  meter.end(*stream);
  ASSERT_EQ(device.recorded.size(), 2u);
  for (Clocked::At* at : device.recorded) at->done = true;
  EXPECT_EQ(meter.take(), 4);
}

TEST(WaitMeter, AGroupOfOneIsNotMetered) {
  const auto stream = cpu_device().make_stream();
  WaitMeter meter;
  // A group of one waits for nobody.
  const auto alone = make_traced(make_self_communicator(*stream, "self"), nullptr, &meter);
  float x = 1;
  alone->all_reduce(&x, 1, DType::f32, ReduceOp::sum);
  EXPECT_EQ(meter.take(), 0);
}

}  // namespace
}  // namespace octet
