#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/base/round_up.h"
#include "src/device/device.h"
#include "src/device/listed_zero.h"
#include "src/device/work_list.h"

namespace octet {
namespace {

/// A piece of a stream's work.
struct StreamPiece {
  const Stream* stream;
  std::int64_t number;

  bool operator==(const StreamPiece&) const = default;
};

class DryEvent final : public Event {
 public:
  bool complete() const override { return true; }
  void synchronize() const override {}
  double seconds_since(const Event& earlier) const override { return at_ - dynamic_cast<const DryEvent&>(earlier).at_; }

  /// `after`: pieces of work that are done when this event is reached, and with each of them all that precedes it on
  /// its stream.
  void set(double at, std::vector<StreamPiece> after) {
    at_ = at;
    after_ = std::move(after);
  }
  double at() const { return at_; }
  const std::vector<StreamPiece>& after() const { return after_; }

 private:
  double at_ = 0;
  std::vector<StreamPiece> after_;
};

/// All work of a device.
struct DryQueue {
  WorkLog* log;
  std::int64_t pieces = 0;
};

class DryStream final : public Stream {
 public:
  DryStream(Device& device, DryQueue& queue) : device_(device), queue_(queue) {}
  Device& device() const override { return device_; }
  void record(Event& event) override {
    Listing::flush("an event is recorded");
    std::vector<StreamPiece> after = after_;
    if (last_) after.push_back({this, *last_});
    dynamic_cast<DryEvent&>(event).set(now_, std::move(after));
  }
  void wait(const Event& event) override {
    Listing::flush("a stream waits for an event");
    const auto& e = dynamic_cast<const DryEvent&>(event);
    now_ = std::max(now_, e.at());
    for (const StreamPiece& piece : e.after()) {
      if (piece.stream != this && std::ranges::find(after_, piece) == after_.end()) after_.push_back(piece);
    }
  }
  void synchronize() override { Listing::flush("the host waits for a stream"); }
  void skip(const Work& work) override {
    Listing::flush("a stream is given work that is no kernel of a table");
    if (queue_.log == nullptr) return;
    last_ = queue_.pieces++;
    std::vector<std::int64_t> after;
    for (const StreamPiece& piece : after_) after.push_back(piece.number);
    now_ += queue_.log->add(*this, work, {*last_, now_, after});
    after_.clear();
  }

 private:
  Device& device_;
  DryQueue& queue_;
  double now_ = 0;  ///< when all work of the stream is done, in seconds since the device was made
  std::optional<std::int64_t> last_;
  std::vector<StreamPiece> after_;  ///< what the next piece waits for
};

class DryDevice final : public Device {
 public:
  DryDevice(DeviceType type, DeviceType workspaces, WorkLog* log, int multiprocessors)
      : type_(type), workspaces_(workspaces), queue_{log}, multiprocessors_(multiprocessors) {}

  DeviceType type() const override { return type_; }
  std::string name() const override { return "no device"; }
  int multiprocessors() const override { return multiprocessors_; }
  std::int64_t memory_bytes() const override { return std::int64_t{1} << 62; }
  bool has_memory() const override { return false; }
  DeviceType workspaces() const override { return workspaces_; }

  std::unique_ptr<Stream> make_stream(StreamPriority) override { return std::make_unique<DryStream>(*this, queue_); }
  std::unique_ptr<Event> make_event() override { return std::make_unique<DryEvent>(); }
  std::unique_ptr<Event> make_timing_event() override { return std::make_unique<DryEvent>(); }
  void synchronize() override { Listing::flush("the host waits for the device"); }

  /// Never the same twice, so that two buffers never look as if they were one.
  void* allocate(std::int64_t bytes) override {
    Listing::flush("memory of the device is taken");
    const std::uintptr_t begin = next_;
    next_ += static_cast<std::uintptr_t>(round_up(bytes, 256));
    return reinterpret_cast<void*>(begin);  // NOLINT(performance-no-int-to-ptr): nobody follows it
  }
  void deallocate(void*, std::int64_t) noexcept override { Listing::flush("memory of the device is freed"); }
  void* allocate_host(std::int64_t bytes) override {
    void* memory = std::calloc(static_cast<std::size_t>(bytes), 1);
    if (memory == nullptr) throw internal_error("device", "out of memory: {} bytes of the host asked", bytes);
    return memory;
  }
  void deallocate_host(void* memory) noexcept override { std::free(memory); }

  void zero(void* memory, std::int64_t bytes, Stream& stream) override {
    if (bytes == 0 || lists_zero(memory, bytes, stream)) return;
    flush_before_transfer(bytes);
  }
  void copy(void*, const void*, std::int64_t bytes, Stream&) override { flush_before_transfer(bytes); }
  void copy_from_host(void*, const void*, std::int64_t bytes, Stream&) override { flush_before_transfer(bytes); }
  void copy_to_host(void*, const void*, std::int64_t bytes, Stream&) override { flush_before_transfer(bytes); }

 private:
  static void flush_before_transfer(std::int64_t bytes) noexcept {
    if (bytes > 0) Listing::flush("memory is copied");
  }

  DeviceType type_, workspaces_;
  DryQueue queue_;
  int multiprocessors_;
  std::uintptr_t next_ = std::uintptr_t{1} << 40;
};

}  // namespace

std::unique_ptr<Device> make_dry_device(DeviceType type, DeviceType workspaces, WorkLog* log, int multiprocessors) {
  return std::make_unique<DryDevice>(type, workspaces, log, multiprocessors);
}

}  // namespace octet
