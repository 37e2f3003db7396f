#pragma once

#include <memory>
#include <string>

#include "tests/support/workless_device.h"

/// A device whose clock the test sets, and that counts how often the host waits for it.
namespace octet::test {

struct Script {
  double device_time = 0;  ///< seconds on the device's clock, of the events that are recorded now
  int host_waits = 0;
};

class ScriptedDevice final : public WorklessDevice {
 public:
  explicit ScriptedDevice(Script& script) : script_(script) {}
  std::unique_ptr<Stream> make_stream(StreamPriority = StreamPriority::normal) override {
    return std::make_unique<ScriptedStream>(*this, script_);
  }
  std::unique_ptr<Event> make_event() override { return make_timing_event(); }
  std::unique_ptr<Event> make_timing_event() override { return std::make_unique<ScriptedEvent>(script_); }

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
