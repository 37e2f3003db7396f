#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "src/comm/communicator.h"
#include "src/comm/failure.h"
#include "src/train/run_directory.h"

namespace octet {

/// As long as it lives a failure of this rank, whichever it is, is told in the run directory: in failure.txt, where the
/// first to speak writes and nobody after it, and by that one in status.json. Also by the watchdog's thread, so that
/// status.json is made from what stands there, of which rank 0 wrote all but how it ended. Before the run begins its
/// steps a usage error is not told there: what stands in the directory is of an earlier start, which this one, mistaken
/// in what it was asked to do, has not touched.
class FailureStatus {
 public:
  /// Collective over the hosts: rank 0 has removed the failure.txt of an earlier start when this returns. `done`: the
  /// last step whose result was read.
  FailureStatus(const RunDirectory& directory, Communicator& control, const std::atomic<std::int64_t>& done);

  /// From now on the directory is of this start.
  void begin() { begun_ = true; }

 private:
  bool may_write(ExitCode code) const;
  void write(ExitCode code, const std::string& message) const;

  std::string status_;  ///< the file
  OwnerMark owner_;
  const std::atomic<std::int64_t>& done_;
  std::atomic<bool> begun_ = false;
  FailureFile file_;
};

}  // namespace octet
