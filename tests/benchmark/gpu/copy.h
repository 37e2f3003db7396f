#pragma once

#include <cstdint>

#include "src/device/device.h"

namespace octet::bench {

/// Enqueues a kernel that moves 16 bytes at a time. Pointers and `bytes` are divisible by 16.
void copy_by_kernel(void* to, const void* from, std::int64_t bytes, Stream& stream);

}  // namespace octet::bench
