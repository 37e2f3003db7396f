#pragma once

#include <string>
#include <vector>

#include "src/metrics/step_metrics.h"

namespace octet {

/// The lines of metrics.jsonl. A last line without its end is being written and is left out. Usage error that names
/// file, line and reason where it is missing, a line is none, or steps do not ascend.
std::vector<StepMetrics> read_metrics(const std::string& path);

/// The lines of metrics.discarded.jsonl: steps begin anew with every start, and what a killed start left of a line is
/// left out.
std::vector<StepMetrics> read_discarded_metrics(const std::string& path);

/// The steps at which a restart went on, ascending: the first step that each start after the first one logged. A start
/// that logged none is missing. Files of older versions do not say which start a line is of; of those only starts that
/// did steps again are known, by the lines that they had discarded, `log_every` steps apart.
std::vector<std::int64_t> restart_steps(const std::vector<StepMetrics>& metrics,
                                        const std::vector<StepMetrics>& discarded, std::int64_t log_every);

}  // namespace octet
