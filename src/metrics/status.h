#pragma once

#include <cstddef>
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
  std::string checkpoint{};       ///< directory of the newest committed checkpoint, empty for none; a whole path
  double checkpoint_seconds = 0;  ///< from the begin of the newest one to its commit; 0: not known
  std::string time{};             ///< when it was written, in UTC; for readers: write_status takes its own
};

/// "checkpoints/step-000007", for any path to a checkpoint of any run: what a run directory's own files keep of it, so
/// that they hold after the directory was renamed or copied. A path that is none of a run's checkpoints stays as it is.
std::string within_run(const std::string& checkpoint);

/// Written whole to a temporary name, then renamed. The checkpoint is written as within_run has it. Throws
/// internal_error when the disk refuses.
void write_status(const std::string& path, const RunStatus& status);

/// Bytes of a status; a longer file is none.
constexpr std::size_t longest_status = std::size_t{1} << 20;

/// What the file says; nothing where there is none, or one that is no status. The checkpoint is that of the run
/// directory in which the file is now, also where an older version wrote the whole path of then.
std::optional<RunStatus> read_status(const std::string& path);

}  // namespace octet
