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
/// status.json is made from what stands there, of which rank 0 wrote all but how it ended.
class FailureStatus {
 public:
  /// Collective over the hosts: rank 0 has removed what an earlier start left when this returns. `done`: the last step
  /// whose result was read.
  FailureStatus(const RunDirectory& directory, Communicator& control, const std::atomic<std::int64_t>& done);

 private:
  void write(ExitCode code, const std::string& message) const;

  std::string status_;  ///< the file
  const std::atomic<std::int64_t>& done_;
  FailureFile file_;
};

}  // namespace octet
