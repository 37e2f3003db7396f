#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "src/base/error.h"
#include "src/base/round_up.h"
#include "src/device/cpu/stream_copy.h"
#include "src/device/device.h"
#include "src/device/listed_zero.h"
#include "src/device/work_list.h"

namespace octet {
namespace {

class CpuEvent final : public Event {
 public:
  explicit CpuEvent(bool timing) : timing_(timing) {}

  bool complete() const override { return true; }
  void synchronize() const override {}

  void stamp() {
    if (timing_) at_ = std::chrono::steady_clock::now();
  }
  double seconds_since(const Event& earlier) const override {
    const auto& since = dynamic_cast<const CpuEvent&>(earlier);
    if (!timing_ || !since.timing_) return Event::seconds_since(earlier);
    return std::chrono::duration<double>(at_ - since.at_).count();
  }

 private:
  bool timing_;
  std::chrono::steady_clock::time_point at_;
};

class CpuStream final : public Stream {
 public:
  explicit CpuStream(Device& device) : device_(device) {}
  Device& device() const override { return device_; }
  void record(Event& event) override {
    Listing::flush("an event is recorded");
    dynamic_cast<CpuEvent&>(event).stamp();
  }
  void wait(const Event&) override { Listing::flush("a stream waits for an event"); }
  void synchronize() override { Listing::flush("the host waits for a stream"); }

 private:
  Device& device_;
};

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "CPU";
}

class CpuDevice final : public Device {
 public:
  DeviceType type() const override { return DeviceType::cpu; }
  std::string name() const override { return processor_name(); }

  std::int64_t memory_bytes() const override {
    const auto physical = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    std::ifstream cgroup("/sys/fs/cgroup/memory.max");
    std::int64_t limit = 0;
    return cgroup >> limit ? std::min(limit, physical) : physical;
  }

  std::unique_ptr<Stream> make_stream(StreamPriority) override { return std::make_unique<CpuStream>(*this); }
  std::unique_ptr<Event> make_event() override { return std::make_unique<CpuEvent>(false); }
  std::unique_ptr<Event> make_timing_event() override { return std::make_unique<CpuEvent>(true); }
  void synchronize() override { Listing::flush("the host waits for the device"); }

  void* allocate(std::int64_t bytes) override {
    Listing::flush("memory of the device is taken");
    constexpr std::int64_t huge_page = 2 << 20;
    const std::int64_t alignment = bytes >= huge_page ? huge_page : 256;
    const auto rounded = static_cast<std::size_t>(round_up(bytes, alignment));
    void* memory = std::aligned_alloc(static_cast<std::size_t>(alignment), rounded);
    if (memory == nullptr) {
      throw internal_error("device", "out of memory: {} bytes asked, the machine has {} in all", bytes, memory_bytes());
    }
    if (alignment == huge_page) madvise(memory, rounded, MADV_HUGEPAGE);
    return memory;
  }
  void deallocate(void* memory, std::int64_t) noexcept override {
    Listing::flush("memory of the device is freed");
    std::free(memory);
  }
  void* allocate_host(std::int64_t bytes) override { return allocate(bytes); }
  void deallocate_host(void* memory) noexcept override { std::free(memory); }

  // A request for no bytes of a buffer without memory is valid, but memset and memcpy must not be given null.
  void zero(void* memory, std::int64_t bytes, Stream& stream) override {
    if (bytes == 0 || lists_zero(memory, bytes, stream)) return;
    flush_before_transfer(bytes);
    std::memset(memory, 0, static_cast<std::size_t>(bytes));
  }
  void copy(void* to, const void* from, std::int64_t bytes, Stream&) override {
    flush_before_transfer(bytes);
    if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  void copy_from_host(void* to, const void* from, std::int64_t bytes, Stream& s) override { copy(to, from, bytes, s); }
  void copy_to_host(void* to, const void* from, std::int64_t bytes, Stream&) override {
    flush_before_transfer(bytes);
    stream_copy(to, from, bytes);
  }

 private:
  static void flush_before_transfer(std::int64_t bytes) noexcept {
    if (bytes > 0) Listing::flush("memory is copied");
  }
};

}  // namespace

Device& cpu_device() {
  static CpuDevice device;
  return device;
}

}  // namespace octet
