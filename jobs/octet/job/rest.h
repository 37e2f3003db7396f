#pragma once

#include <string>
#include <vector>

#include "jobs/octet/submit/run_record.h"

namespace octet {

// Which jobs that wait for a run need not begin any more. A job that is not in the records was submitted by the script
// of another one, or by hand with RUN/job.sh: it does what the newest recorded job before it does, since that one's
// script stands there.

/// The waiting jobs with no step to take where `steps` of the run are done, in whatever submission they came.
std::vector<std::string> without_steps(const std::vector<submit::JobRecord>& jobs,
                                       const std::vector<std::string>& waiting, std::int64_t steps);

/// The waiting jobs that do the same as this one, which had to stop: of its chain, or added to it later with the same
/// settings and nodes. Others may be what a person has submitted to do better.
std::vector<std::string> of_the_same(const std::vector<submit::JobRecord>& jobs,
                                     const std::vector<std::string>& waiting, const std::string& job);

}  // namespace octet
