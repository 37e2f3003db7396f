#include "src/comm/nccl/nccl_memory.h"

#include <exception>
#include <utility>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/comm/nccl/nccl_reason.h"

namespace octet {
namespace {

constexpr int symmetric_window = 1;  // NCCL_WIN_COLL_SYMMETRIC, which older headers do not have

void check_version(const NcclApi& api, const std::string& group, NcclBuffers buffers, int needed) {
  int version = 0;
  if (api.get_version(&version) == ncclSuccess && version >= needed) return;
  throw usage_error("comm", "nccl.{}_buffers = {}: needs NCCL {}.{}, found version {}", group, buffers, needed / 10000,
                    needed / 100 % 100, version);
}

}  // namespace

NcclMemory::NcclMemory(const NcclApi& api, NcclGroup& group, std::string name, Device& device, NcclBuffers buffers)
    : api_(api), group_(group), name_(std::move(name)), device_(device), symmetric_(buffers == NcclBuffers::symmetric) {
  check_version(api, name_, buffers, symmetric_ ? 22700 : 21900);
}

NcclMemory::~NcclMemory() {
  if (!handles_.empty()) log::warning("[comm] group {}: {} buffers outlive it", name_, handles_.size());
}

void* NcclMemory::allocate(std::int64_t bytes) {
  const OperationScope operation("ncclMemAlloc", name_, bytes);
  void* memory = nullptr;
  const ncclResult_t result = api_.mem_alloc(&memory, static_cast<std::size_t>(bytes));
  if (result != ncclSuccess) {
    throw internal_error("comm", "{}: {}; of {} bytes of the device {} are in use", operation.text(),
                         nccl_reason(api_, result), device_.memory_bytes(), device_.used_bytes());
  }
  try {
    handles_[memory] = registered(memory, bytes);
  } catch (...) {
    api_.mem_free(memory);
    throw;
  }
  return memory;
}

/// The handle is written when NCCL is ready, not when the call returns.
void* NcclMemory::registered(void* memory, std::int64_t bytes) {
  const OperationScope operation(symmetric_ ? "ncclCommWindowRegister" : "ncclCommRegister", name_, bytes);
  const auto size = static_cast<std::size_t>(bytes);
  void* handle = nullptr;
  group_.wait_until_ready(operation);
  group_.check(symmetric_ ? api_.comm_window_register(group_.get(), memory, size, &handle, symmetric_window)
                          : api_.comm_register(group_.get(), memory, size, &handle),
               operation);
  group_.wait_until_ready(operation);
  return handle;
}

/// After an error the process ends, and a wait for the device might be one for a lost peer: nothing is given back then.
void NcclMemory::deallocate(void* memory, std::int64_t) noexcept {
  const auto found = handles_.find(memory);
  void* const handle = found->second;
  handles_.erase(found);
  if (group_.failed() || std::uncaught_exceptions() > 0) return;
  try {
    device_.synchronize();
  } catch (const std::exception& e) {
    return log::warning("{}", e.what());
  }
  ncclResult_t result = ncclSuccess;
  if (handle != nullptr) {
    result =
        symmetric_ ? api_.comm_window_deregister(group_.get(), handle) : api_.comm_deregister(group_.get(), handle);
  }
  if (result == ncclSuccess) result = api_.mem_free(memory);
  if (result != ncclSuccess) log::warning("[comm] group {}: memory is not freed: {}", name_, nccl_reason(api_, result));
}

}  // namespace octet
