#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace octet {

/// What status.json says: how far a run came and why it ended, for the batch script and its owner.
struct RunStatus {
  std::string state;   ///< running, finished, stopped, failed
  std::string reason;  ///< "all steps done", "SIGTERM", the error's message
  int exit_code = 0;
  std::int64_t step = 0;  ///< last finished step
  std::int64_t steps = 0;
  std::int64_t restarts = 0;      ///< how often the run was resumed
  std::string checkpoint{};       ///< directory of the newest committed checkpoint, empty for none
  double checkpoint_seconds = 0;  ///< from the begin of the newest one to its commit; 0: not known
  std::string time{};             ///< when it was written, in UTC; for readers: write_status takes its own
};

/// The time as status.json has it: "2026-11-22T09:54:53Z".
std::string utc_now();

/// Written whole to a temporary name, then renamed. Throws internal_error when the disk refuses.
void write_status(const std::string& path, const RunStatus& status);

/// What the file says; nothing where there is none, or one that is no status.
std::optional<RunStatus> read_status(const std::string& path);

}  // namespace octet
