#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jobs/commbench/exercise.h"
#include "src/comm/communicator.h"

namespace octet::commbench {

struct MeasureSettings {
  std::int64_t warmup = 5;
  std::int64_t iterations = 20;
  std::int64_t check = 1;   ///< passes that are compared, before the timed iterations and again after them; 0: none
  double row_seconds = 10;  ///< warm-up and iterations are fewer where they would take longer; one of them is made
};

/// Microseconds of the iterations, each that of the slowest rank of all groups.
struct Timing {
  std::vector<double> us;  ///< sorted
  double average_us = 0;   ///< from the first to the last, divided, of the slowest rank: nccl-tests' `time`

  double median() const { return at(0.5); }
  double p95() const { return at(0.95); }
  /// The value that so large a part of all does not exceed (nearest rank).
  double at(double part) const;
};

struct Measured {
  Timing ours;
  Timing plain;            ///< of the communicator to compare with; empty without
  double first_us = 0;     ///< of one round after the first calls, which make connections
  std::int64_t wrong = 0;  ///< elements on all ranks, before and after the timed iterations
  bool checked = true;     ///< something was compared
};

/// Runs the calls on all groups of the name at once: results compared, warm-up, timed iterations one after the other
/// with nothing between them, results compared. With `plain` the timed calls alternate between the two. `seed`:
/// different in each group. Collective over `control`.
Measured measure(Communicator& comm, Communicator* plain, const std::vector<CommRecord>& calls, Form form,
                 const MeasureSettings& settings, std::uint64_t seed, Communicator& control);

/// The timing of iterations, given the time of each, in any order.
Timing timing_of(std::vector<double> us, double average_us);

}  // namespace octet::commbench
