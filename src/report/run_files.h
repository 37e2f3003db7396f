#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/metrics/status.h"
#include "src/metrics/step_metrics.h"
#include "src/report/profile.h"

namespace octet {

/// What a run directory holds, as a report reads it. The run may still be going on.
struct RunFiles {
  std::string path;  ///< as it was named
  std::string name;  ///< for readers; no other run of the report has it
  RunStatus status;  ///< as it can be believed (src/owner/believed.h): "lost" where the process was killed
  std::map<std::string, std::string> config;  ///< "section.key" to its value, as config.yaml has it
  std::vector<StepMetrics> metrics;           ///< steps in ascending order
  std::vector<StepMetrics> discarded;         ///< of steps that were done again, in the order of the starts
  std::optional<Profile> profile;

  /// The value of a key of config.yaml; "" where it is not there, as in runs of other versions.
  std::string option(const std::string& key) const;
};

/// Reads the files. Usage error that names file and line where one is missing or damaged; metrics.discarded.jsonl and
/// profile.json need not be there, and a last line of metrics.jsonl that is not complete yet is left out.
RunFiles read_run(const std::string& path);

/// The runs of these directories, each with the shortest end of its path as a name that tells it from the others.
/// Usage error where two are the same directory.
std::vector<RunFiles> read_runs(const std::vector<std::string>& paths);

}  // namespace octet
