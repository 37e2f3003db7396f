#include <algorithm>
#include <cstdlib>

#include "src/base/error.h"
#include "src/device/device.h"

namespace octet {
namespace {

class DryEvent final : public Event {
 public:
  bool complete() const override { return true; }
  void synchronize() const override {}
  double seconds_since(const Event& earlier) const override { return at_ - dynamic_cast<const DryEvent&>(earlier).at_; }

  void set(double at) { at_ = at; }
  double at() const { return at_; }

 private:
  double at_ = 0;
};

class DryStream final : public Stream {
 public:
  DryStream(Device& device, WorkLog* log) : device_(device), log_(log) {}
  Device& device() const override { return device_; }
  void record(Event& event) override { dynamic_cast<DryEvent&>(event).set(now_); }
  void wait(const Event& event) override { now_ = std::max(now_, dynamic_cast<const DryEvent&>(event).at()); }
  void synchronize() override {}
  void skip(const Work& work) override {
    if (log_ != nullptr) now_ += log_->add(*this, work, now_);
  }

 private:
  Device& device_;
  WorkLog* log_;
  double now_ = 0;  ///< seconds since the device was made, when all that it was given is done
};

class DryDevice final : public Device {
 public:
  DryDevice(DeviceType type, DeviceType workspaces, WorkLog* log) : type_(type), workspaces_(workspaces), log_(log) {}

  DeviceType type() const override { return type_; }
  std::string name() const override { return "no device"; }
  std::int64_t memory_bytes() const override { return std::int64_t{1} << 62; }
  bool has_memory() const override { return false; }
  DeviceType workspaces() const override { return workspaces_; }

  std::unique_ptr<Stream> make_stream() override { return std::make_unique<DryStream>(*this, log_); }
  std::unique_ptr<Event> make_event() override { return std::make_unique<DryEvent>(); }
  std::unique_ptr<Event> make_timing_event() override { return std::make_unique<DryEvent>(); }

  /// Never the same twice, so that two buffers never look as if they were one.
  void* allocate(std::int64_t bytes) override {
    constexpr std::uintptr_t alignment = 256;
    const std::uintptr_t begin = next_;
    next_ += (static_cast<std::uintptr_t>(bytes) + alignment - 1) / alignment * alignment;
    return reinterpret_cast<void*>(begin);  // NOLINT(performance-no-int-to-ptr): nobody follows it
  }
  void deallocate(void*, std::int64_t) noexcept override {}
  void* allocate_host(std::int64_t bytes) override {
    void* memory = std::calloc(static_cast<std::size_t>(bytes), 1);
    if (memory == nullptr) throw internal_error("device", "out of memory: {} bytes of the host asked", bytes);
    return memory;
  }
  void deallocate_host(void* memory) noexcept override { std::free(memory); }

  void zero(void*, std::int64_t, Stream&) override {}
  void copy(void*, const void*, std::int64_t, Stream&) override {}
  void copy_from_host(void*, const void*, std::int64_t, Stream&) override {}
  void copy_to_host(void*, const void*, std::int64_t, Stream&) override {}

 private:
  DeviceType type_, workspaces_;
  WorkLog* log_;
  std::uintptr_t next_ = std::uintptr_t{1} << 40;
};

}  // namespace

std::unique_ptr<Device> make_dry_device(DeviceType type, DeviceType workspaces, WorkLog* log) {
  return std::make_unique<DryDevice>(type, workspaces, log);
}

}  // namespace octet
