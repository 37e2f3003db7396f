#pragma once

#include <cstdint>
#include <string>

#include "checkpoints/save/save_interval.h"

namespace octet::checkpoint {

/// Figures of one checkpoint, for the log.
struct SaveReport {
  std::int64_t step = 0;
  std::int64_t bytes = 0;     ///< of all ranks
  double stall_seconds = 0;   ///< that training stood still for the snapshot (the slowest rank)
  double commit_seconds = 0;  ///< and, rank 0, for agreement and the rename
  double write_seconds = 0;   ///< in the background, until the commit
  /// Parts of write_seconds: the slowest rank's file (write, fsync, hash), and rank 0's manifest (made, written, read
  /// back). The rest is the wait for step boundaries.
  double file_seconds = 0, manifest_seconds = 0;
  double read_back_seconds =
      0;  ///< part of a file's: to read it back and hash it, of the rank that took longest for it
  std::string path;
};

/// What interval auto weighs: all that training stood still for, the commit too.
inline MeasuredCost cost_of(const SaveReport& report) {
  return {.stall_seconds = report.stall_seconds + report.commit_seconds, .write_seconds = report.write_seconds};
}

}  // namespace octet::checkpoint
