#pragma once

#include <string>
#include <vector>

#include "src/report/run_files.h"

namespace octet {

/// A line of a table: what it is about, and what each run has.
struct TableRow {
  std::string label;
  std::vector<std::string> values;
};

/// What a reader wants to know of each run first: how it stands, what was trained how, and what came out.
std::vector<TableRow> summary_table(const std::vector<RunFiles>& runs);

/// The keys of the model ("model.dim") and the options whose values are not the same in all runs, but for where each
/// run writes; none of a single run. A run that has no model.yaml, or no config.yaml, makes no difference in what would
/// stand there.
std::vector<TableRow> differing_options(const std::vector<RunFiles>& runs);

/// Of a run; none where it is not known.
struct TokensPerSecond {
  std::optional<double> with_pauses;  ///< by wall time: not known of files in which a pause is not
  std::optional<double> training;     ///< by the time of the steps alone
};

/// The mean of all lines but the first of each start, which warms up; nothing where there is no other.
TokensPerSecond mean_throughput(const std::vector<StepMetrics>& metrics, const std::vector<std::int64_t>& restarts);

/// The steps at which the run's restarts went on (run_files.h).
std::vector<std::int64_t> restart_steps(const RunFiles& run);

}  // namespace octet
