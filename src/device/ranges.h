#pragma once

#include <string_view>

namespace octet {

/// Named ranges of the calling thread that a profiler shows over what it issues to the GPU (NVTX, for Nsight Systems);
/// they nest. Without a profiler a call costs a few nanoseconds; in a build without CUDA it does nothing.
void push_range(std::string_view name);
void pop_range() noexcept;

}  // namespace octet
