#pragma once

#include <cstdint>
#include <string>

namespace octet {

/// What status.json says: how far a run came and why it ended, for the batch script and its owner.
struct RunStatus {
  std::string state;   ///< running, finished, stopped, failed
  std::string reason;  ///< "all steps done", "SIGTERM", the error's message
  int exit_code = 0;
  std::int64_t step = 0;  ///< last finished step
  std::int64_t steps = 0;
};

/// Written whole to a temporary name, then renamed. Throws internal_error when the disk refuses.
void write_status(const std::string& path, const RunStatus& status);

}  // namespace octet
