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

/// Microseconds of each way; infinite for one that is refused, and for one that another has clearly beaten. All take
/// turns first, at the same clock. Those that are nearly the fastest there then have the GPU to themselves for some
/// time, as in a step (under_load). Waits for the stream.
std::vector<double> trial_microseconds(Stream& stream, std::span<const Trial> trials);

/// Microseconds of those ways that are nearly the fastest in `turns`, one at least, at the clock to which each of them
/// brings the GPU; infinite for all others. At its power limit a GPU clocks lower the more a way draws: of ways that
/// take as long in turns, one can be 7 % slower where it works alone (docs/gpu-results.md). `slice` runs one way for
/// load_seconds and gives its microseconds, infinite for a failure. Each way has a slice before and one after those of
/// the others, whose order is the reverse then, since a GPU that gets hot is slower.
std::vector<double> under_load(std::span<const double> turns, const std::function<double(std::size_t)>& slice);

/// Which of the first proposal and the fastest is to be taken: another must be clearly faster than the library's first,
/// else noise would decide. `times` has one at least, infinite for what does not run.
std::size_t worth_taking(std::span<const double> times);

}  // namespace octet::cuda
