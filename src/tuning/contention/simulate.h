#pragma once

#include <cstdint>
#include <functional>

#include "src/tuning/contention/traffic.h"

namespace octet {

struct SimulateOptions {
  /// Blocks that are simulated at most, or little more. Traffic that has more is simulated for its first steps, and the
  /// rest is taken to go on at the rate of the second half of those.
  std::int64_t most_blocks = 100'000;
  /// Called now and then with the number of bytes that have arrived since the last call.
  std::function<void(std::int64_t)> progress;
};

struct Simulation {
  double us = 0;            ///< until all has arrived
  std::int64_t blocks = 0;  ///< simulated
  int steps = 0;            ///< of the longest lane
  int simulated_steps = 0;  ///< less than steps: the rest is extrapolated
};

/// Bytes that such a simulation will report as progress.
std::int64_t simulated_bytes(const Traffic& traffic, const SimulateOptions& options);

/// Simulates the traffic with SimGrid, in a process of its own, since SimGrid has one simulation a process. Errors of
/// that process come back as internal errors. Throws a usage error where the simulator was not installed.
Simulation simulate(const Traffic& traffic, const SimulateOptions& options = {});

}  // namespace octet
