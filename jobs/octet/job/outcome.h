#pragma once

#include <optional>
#include <string>

#include "jobs/octet/job/launch_log.h"
#include "src/owner/record.h"

namespace octet {

/// A launch that begins now: what stands in status.json is of earlier ones, and the job's failure file is removed.
LaunchRecord begin_launch(const std::string& run_dir, const std::string& job, const std::string& hosts);

/// The record of nodes that were looked at without a launch after it.
LaunchRecord not_begun(const std::string& run_dir, const std::string& job, const JobDecision& decision);

/// How the launch has ended, from status.json. Where the run did not write it (it was killed, or failed before it knew
/// its directory), the reason is that of RUN/job/failure-JOB.txt (src/comm/failure.h), else that no rank left one,
/// behind that the job was told to end, if it was (src/owner/told_to_end.h), and status.json is completed.
/// `launcher_code`: no evidence, but told. `said`: a file of what the launcher and the ranks said.
void end_launch(LaunchRecord& record, const std::string& run_dir, const std::string& launcher_code,
                const std::string& said);

/// A run of another job, or of none, that has made the directory its own since the launch began, and may have ended by
/// now: status.json is that run's. Nothing where there is none, or where an older version noted the launch.
std::optional<OwnerRecord> owner_since(const LaunchRecord& record, const std::string& run_dir);

/// A launch that was refused the directory: status.json is another run's and stays as it is.
void end_refused(LaunchRecord& record, const std::string& run_dir, const std::string& reason);

/// A launch whose ranks were never started, since a signal came first: the job's cancellation (`terminated`) or its
/// time limit. status.json stays as it is.
void end_unstarted(LaunchRecord& record, const std::string& run_dir, bool terminated);

/// Says whether all these steps are done, by status.json.
bool is_finished(const std::string& run_dir, std::int64_t steps);

/// What the last checkpoint took, from status.json; 0 if that is not known.
double checkpoint_seconds(const std::string& run_dir);

/// Why the job stops, and why its launch ended: "the job was cancelled; SIGTERM". Once where they are the same, or
/// where the first holds the second.
std::string reason_of_end(const JobDecision& decision, const std::string& of_launch);

/// The job stops, or does not begin, for another reason than the run's own: status.json says so.
void note_end(const std::string& run_dir, const JobDecision& decision);

}  // namespace octet
