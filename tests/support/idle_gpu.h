#pragma once

#include <memory>
#include <string>

#include "src/device/device.h"

namespace octet::test {

/// A GPU for whoever asks what it is: it has no memory to give and does no work.
class IdleGpu : public Device {
 public:
  explicit IdleGpu(std::int64_t bytes = 0, int multiprocessors = 0)
      : bytes_(bytes), multiprocessors_(multiprocessors) {}

  DeviceType type() const override { return DeviceType::cuda; }
  std::string name() const override { return "gpu"; }
  std::int64_t memory_bytes() const override { return bytes_; }
  int multiprocessors() const override { return multiprocessors_; }
  std::unique_ptr<Stream> make_stream(StreamPriority = StreamPriority::normal) override { return nullptr; }
  std::unique_ptr<Event> make_event() override { return nullptr; }
  std::unique_ptr<Event> make_timing_event() override { return nullptr; }
  void* allocate(std::int64_t) override { return nullptr; }
  void deallocate(void*, std::int64_t) noexcept override {}
  void* allocate_host(std::int64_t) override { return nullptr; }
  void deallocate_host(void*) noexcept override {}
  void zero(void*, std::int64_t, Stream&) override {}
  void copy(void*, const void*, std::int64_t, Stream&) override {}
  void copy_from_host(void*, const void*, std::int64_t, Stream&) override {}
  void copy_to_host(void*, const void*, std::int64_t, Stream&) override {}

 private:
  std::int64_t bytes_;
  int multiprocessors_;
};

}  // namespace octet::test
