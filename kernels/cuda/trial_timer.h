#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "src/device/device.h"

/// How the ways in which a library can do the same are timed against each other.
namespace octet::cuda {

/// Microseconds of what `run` puts on the stream: the least of timed_runs after uncounted_runs (kernels/gemm_timing.h),
/// since what disturbs a run makes it longer. Infinite when `run` says, by false, that the library refuses it. Waits.
double least_microseconds(Stream& stream, const std::function<bool()>& run);

/// Which of the first proposal and the fastest is to be taken: another must be clearly faster than the library's first,
/// else noise would decide. `times` has one at least, infinite for what does not run.
std::size_t worth_taking(std::span<const double> times);

}  // namespace octet::cuda
