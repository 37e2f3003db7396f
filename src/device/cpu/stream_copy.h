#pragma once

#include <cstdint>

namespace octet {

/// memcpy for copies that nobody reads soon: past the caches, which saves reading the lines that are overwritten (a
/// third of the traffic) and leaves what the caches hold. The memory must not overlap. Any thread.
void stream_copy(void* to, const void* from, std::int64_t bytes) noexcept;

}  // namespace octet
