#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "src/device/device.h"

/// How the ways in which a library can do the same are timed against each other.
namespace octet::cuda {

/// Puts one of the ways on the stream; false: the library refuses it.
using Trial = std::function<bool()>;

/// Microseconds of each: the least of timed_runs after uncounted_runs (kernels/gemm_timing.h), since what disturbs a
/// run makes it longer; infinite for one that is refused. They take turns: a GPU that works draws more power and clocks
/// lower from one millisecond to the next, and what was timed first would seem the fastest. Waits for the stream.
std::vector<double> least_microseconds(Stream& stream, std::span<const Trial> trials);

/// Which of the first proposal and the fastest is to be taken: another must be clearly faster than the library's first,
/// else noise would decide. `times` has one at least, infinite for what does not run.
std::size_t worth_taking(std::span<const double> times);

}  // namespace octet::cuda
