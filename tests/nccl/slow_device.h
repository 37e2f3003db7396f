#pragma once

#include <unistd.h>

#include <functional>
#include <memory>
#include <string>

#include "tests/support/workless_device.h"

namespace octet::test {

/// A device whose events are complete when the test says so, and whose calls may never come back.
class SlowDevice final : public WorklessDevice {
 public:
  bool done = false;
  bool record_blocks = false, query_blocks = false;
  std::function<void()> asked;  ///< called when an event is asked

  std::unique_ptr<Stream> make_stream(StreamPriority = StreamPriority::normal) override {
    return std::make_unique<SlowStream>(*this);
  }
  std::unique_ptr<Event> make_event() override { return std::make_unique<SlowEvent>(*this); }
  std::unique_ptr<Event> make_timing_event() override { return make_event(); }

 private:
  [[noreturn]] static void block() {
    for (;;) pause();
  }
  struct SlowEvent final : Event {
    explicit SlowEvent(const SlowDevice& d) : device(d) {}
    bool complete() const override {
      if (device.asked) device.asked();
      return device.query_blocks ? (block(), false) : device.done;
    }
    void synchronize() const override {}
    const SlowDevice& device;
  };
  struct SlowStream final : Stream {
    explicit SlowStream(SlowDevice& d) : owner(d) {}
    Device& device() const override { return owner; }
    void record(Event&) override {
      if (owner.record_blocks) block();
    }
    void wait(const Event&) override {}
    void synchronize() override {}
    SlowDevice& owner;
  };
};

}  // namespace octet::test
