#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace octet::submit {

/// The last lines of a run's metrics.jsonl that have their end, oldest first: those in its last MiB, since the file of
/// a long run has hundreds. None where there is no such file, or none that can be read; that it fails while it is read
/// is a warning.
std::vector<std::string> last_lines(const std::string& run_dir);

/// The step of the last one; 0 where there is none that can be read.
std::int64_t last_logged_step(const std::string& run_dir);

/// How fast a run has gone of late.
struct Pace {
  double seconds_per_step = 0;  ///< wall time, with the pauses between steps
  std::int64_t steps = 0;       ///< that were taken so
};

/// The pace of the newest start in these lines, without the oldest of them if there are others: a start's first step is
/// slow. Nothing where the last line cannot be read, or one does not say the pauses, as older versions wrote them.
std::optional<Pace> last_pace(const std::vector<std::string>& lines);

}  // namespace octet::submit
