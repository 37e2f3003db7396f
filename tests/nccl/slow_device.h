#pragma once

#include <unistd.h>

#include <functional>
#include <memory>
#include <string>

#include "src/device/device.h"

namespace octet::test {

/// A device whose events are complete when the test says so, and whose calls may never come back.
class SlowDevice final : public Device {
 public:
  bool done = false;
  bool record_blocks = false, query_blocks = false;
  std::function<void()> asked;  ///< called when an event is asked

  DeviceType type() const override { return DeviceType::cpu; }
  std::string name() const override { return "slow"; }
  std::int64_t memory_bytes() const override { return cpu_device().memory_bytes(); }
  std::unique_ptr<Stream> make_stream(StreamPriority = StreamPriority::normal) override {
    return std::make_unique<SlowStream>(*this);
  }
  std::unique_ptr<Event> make_event() override { return std::make_unique<SlowEvent>(*this); }
  std::unique_ptr<Event> make_timing_event() override { return make_event(); }
  void* allocate(std::int64_t bytes) override { return cpu_device().allocate(bytes); }
  void deallocate(void* memory, std::int64_t bytes) noexcept override { cpu_device().deallocate(memory, bytes); }
  void* allocate_host(std::int64_t bytes) override { return cpu_device().allocate_host(bytes); }
  void deallocate_host(void* memory) noexcept override { cpu_device().deallocate_host(memory); }
  void zero(void*, std::int64_t, Stream&) override {}
  void copy(void*, const void*, std::int64_t, Stream&) override {}
  void copy_from_host(void*, const void*, std::int64_t, Stream&) override {}
  void copy_to_host(void*, const void*, std::int64_t, Stream&) override {}

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
