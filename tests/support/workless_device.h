#pragma once

#include <string>

#include "src/device/device.h"

namespace octet::test {

/// A device with the memory of the CPU whose copies do nothing; its streams and events are up to who derives from it.
class WorklessDevice : public Device {
 public:
  DeviceType type() const override { return DeviceType::cpu; }
  std::string name() const override { return "workless"; }
  std::int64_t memory_bytes() const override { return cpu_device().memory_bytes(); }
  void* allocate(std::int64_t bytes) override { return cpu_device().allocate(bytes); }
  void deallocate(void* memory, std::int64_t bytes) noexcept override { cpu_device().deallocate(memory, bytes); }
  void* allocate_host(std::int64_t bytes) override { return cpu_device().allocate_host(bytes); }
  void deallocate_host(void* memory) noexcept override { cpu_device().deallocate_host(memory); }
  void zero(void*, std::int64_t, Stream&) override {}
  void copy(void*, const void*, std::int64_t, Stream&) override {}
  void copy_from_host(void*, const void*, std::int64_t, Stream&) override {}
  void copy_to_host(void*, const void*, std::int64_t, Stream&) override {}
};

}  // namespace octet::test
