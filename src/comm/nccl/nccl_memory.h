#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "src/comm/nccl/nccl_group.h"
#include "src/device/device.h"

namespace octet {

/// Memory of NCCL's own allocator (ncclMemAlloc), registered with one communicator. Both calls are slow; of windows
/// they are collective, and all ranks allocate the same in the same order.
class NcclMemory final : public MemorySource {
 public:
  /// `name`: of the group that the memory is for, in settings and messages; the communicator may have another.
  /// `buffers`: registered or symmetric. Usage error when the library is too old for that.
  NcclMemory(const NcclApi& api, NcclGroup& group, std::string name, Device& device, NcclBuffers buffers);
  ~NcclMemory() override;
  NcclMemory(const NcclMemory&) = delete;
  NcclMemory& operator=(const NcclMemory&) = delete;

  void* allocate(std::int64_t bytes) override;
  /// Waits for all work that the device was given, and then frees the memory.
  void deallocate(void* memory, std::int64_t bytes) noexcept override;
  MemoryLedger& ledger() override { return device_.ledger(); }
  bool cheap() const override { return false; }

 private:
  void* registered(void* memory, std::int64_t bytes);

  const NcclApi& api_;
  NcclGroup& group_;
  std::string name_;
  Device& device_;
  bool symmetric_;
  std::map<void*, void*> handles_;  ///< of a buffer: ncclCommRegister's or ncclWindow_t
};

}  // namespace octet
