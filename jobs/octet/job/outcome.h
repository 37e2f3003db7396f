#pragma once

#include <string>

#include "jobs/octet/job/launch_log.h"

namespace octet {

/// A launch that begins now: what stands in status.json is of earlier ones, and failure.txt is removed.
LaunchRecord begin_launch(const std::string& run_dir, const std::string& job, const std::string& hosts);

/// The record of nodes that were looked at without a launch after it.
LaunchRecord not_begun(const std::string& run_dir, const std::string& job, const JobDecision& decision);

/// How the launch has ended, from status.json. Where the run did not write it (it was killed, or failed before it knew
/// its directory), the reason is that of RUN/job/failure.txt (src/comm/failure.h), else that no rank left one, and
/// status.json is completed. `launcher_code`: no evidence, but told. `said`: a file of what the launcher and
/// the ranks said.
void end_launch(LaunchRecord& record, const std::string& run_dir, const std::string& launcher_code,
                const std::string& said);

/// A launch whose ranks were never started, since a signal came first: the job's cancellation (`terminated`) or its
/// time limit. status.json stays as it is.
void end_unstarted(LaunchRecord& record, const std::string& run_dir, bool terminated);

/// Says whether all these steps are done, by status.json.
bool is_finished(const std::string& run_dir, std::int64_t steps);

/// What the last checkpoint took, from status.json; 0 if that is not known.
double checkpoint_seconds(const std::string& run_dir);

/// The job stops, or does not begin, for another reason than the run's own: status.json says so.
void note_end(const std::string& run_dir, const JobDecision& decision);

}  // namespace octet
