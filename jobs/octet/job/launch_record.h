#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/cluster/job_decision.h"

namespace octet {

/// A launch, when it began and, once it has ended, how. Checkpoints are as within_run has them (src/metrics/status.h).
struct LaunchRecord {
  Launch launch{};
  std::string hosts{};             ///< list in Slurm's form; of action exclude those to avoid
  std::string began{}, ended{};    ///< UTC
  std::string checkpoint_after{};  ///< newest committed one when it had ended
  std::string action{};            ///< what the job did then, empty while it runs
  std::string status_before{};     ///< status.json's text, to know whether the launch wrote another one
  /// Of owner.json, by which a claim of the directory since then is known; nothing in a record of an older version.
  std::optional<std::string> owner_before{};

  bool operator==(const LaunchRecord&) const = default;
};

/// A line of JSON, with its end.
std::string to_line(const LaunchRecord& record);
/// Usage error that names `where` for a line that is none.
LaunchRecord parse_launch(std::string_view line, const std::string& where);

}  // namespace octet
