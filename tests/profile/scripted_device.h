#pragma once

#include <memory>
#include <string>

#include "src/device/device.h"

/// A device whose clock the test sets, and that counts how often the host waits for it.
namespace octet::test {

struct Script {
  double device_time = 0;  ///< seconds on the device's clock, of the events that are recorded now
  int host_waits = 0;
};

class ScriptedDevice final : public Device {
 public:
  explicit ScriptedDevice(Script& script) : script_(script) {}
  DeviceType type() const override { return DeviceType::cpu; }
  std::string name() const override { return "scripted"; }
  std::int64_t memory_bytes() const override { return cpu_device().memory_bytes(); }
  std::unique_ptr<Stream> make_stream(StreamPriority = StreamPriority::normal) override {
    return std::make_unique<ScriptedStream>(*this, script_);
  }
  std::unique_ptr<Event> make_event() override { return make_timing_event(); }
  std::unique_ptr<Event> make_timing_event() override { return std::make_unique<ScriptedEvent>(script_); }
  void* allocate(std::int64_t bytes) override { return cpu_device().allocate(bytes); }
  void deallocate(void* memory, std::int64_t bytes) noexcept override { cpu_device().deallocate(memory, bytes); }
  void* allocate_host(std::int64_t bytes) override { return cpu_device().allocate_host(bytes); }
  void deallocate_host(void* memory) noexcept override { cpu_device().deallocate_host(memory); }
  void zero(void*, std::int64_t, Stream&) override {}
  void copy(void*, const void*, std::int64_t, Stream&) override {}
  void copy_from_host(void*, const void*, std::int64_t, Stream&) override {}
  void copy_to_host(void*, const void*, std::int64_t, Stream&) override {}

 private:
  struct ScriptedEvent final : Event {
    explicit ScriptedEvent(Script& s) : script(s) {}
    bool complete() const override { return true; }
    void synchronize() const override { ++script.host_waits; }
    double seconds_since(const Event& earlier) const override {
      return at - dynamic_cast<const ScriptedEvent&>(earlier).at;
    }
    Script& script;
    double at = 0;
  };
  struct ScriptedStream final : Stream {
    ScriptedStream(Device& d, Script& s) : owner(d), script(s) {}
    Device& device() const override { return owner; }
    void record(Event& event) override { dynamic_cast<ScriptedEvent&>(event).at = script.device_time; }
    void wait(const Event&) override {}
    void synchronize() override { ++script.host_waits; }
    Device& owner;
    Script& script;
  };

  Script& script_;
};

}  // namespace octet::test
