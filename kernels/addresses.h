#pragma once

#include <cstdint>

#include "src/base/error.h"

namespace octet {

/// What a library of NVIDIA asks of an operand's address is asked of it on every device, so that a run without a GPU
/// finds a mistake. Throws an internal error that names the operation, by `operation()`, the operand and its address.
template <typename Text>
void check_address(const void* pointer, std::int64_t alignment, const char* operand, Text&& operation) {
  const auto behind = reinterpret_cast<std::uintptr_t>(pointer) % static_cast<std::uintptr_t>(alignment);
  if (behind == 0) return;
  throw internal_error("kernels", "{}: {} must lie on {} bytes and is at {}, {} bytes behind", operation(), operand,
                       alignment, fmt::ptr(pointer), behind);
}

}  // namespace octet
