#pragma once

#include <cstdint>
#include <string_view>

namespace octet {

/// Seconds of a time limit in one of sbatch's forms: minutes, minutes:seconds, hours:minutes:seconds, days-hours,
/// days-hours:minutes, days-hours:minutes:seconds. Usage error that names `origin` for any other text and for zero.
std::int64_t parse_slurm_time(std::string_view text, std::string_view origin);

/// What a job's script wants to know of itself, and others of a job.
struct SlurmJob {
  bool known = false;              ///< the text has a job
  bool over = false;               ///< no process of it is left: it has ended, or waits to begin (again)
  bool cancelled_unbegun = false;  ///< it was cancelled before it had nodes
  bool failed = false;             ///< it has ended with another code than 0
  bool node_failed = false;        ///< Slurm ends it since one of its nodes failed
  int restarts = 0;                ///< how often it was put back into the queue
  bool ending = false;             ///< Slurm ends it: it was cancelled or has reached its limit
  /// Slurm ended it at a limit: of its own time, of its account's hours or of its reservation.
  bool timed_out = false;
  /// Slurm has told the job's steps to end, and takes its nodes after a grace time. Not one that was cancelled within
  /// it.
  bool preempted = false;
  double seconds_left = 1e9;  ///< until the time limit
};

/// Reads what `scontrol show job` prints of one job (JobState, Reason, Restarts, PreemptTime, EndTime, RunTime,
/// TimeLimit). What
/// is not there, as in an empty text of a controller that did not answer, keeps its default.
SlurmJob parse_slurm_job(std::string_view text);

/// Whether srun, or a step's daemon, said that Slurm ended a step since a node failed. `scontrol show job` does not: it
/// shows a job that is back in the queue, as after a preemption without grace or an administrator's requeue.
bool tells_of_failed_node(std::string_view said);

/// Whether a job that was told to end with so many seconds left had reached its time limit: Slurm's view of the time
/// may be a few seconds off.
bool ended_at_limit(double seconds_left);

/// Whether a text can be the number of a job, of an array's or of a part of one ("123", "123_4", "123+1"). What a file
/// of a run says may be anything, and goes to Slurm's programs as an argument.
bool is_job_number(std::string_view text);

/// The nodes that it has now, fewer than it began with where --no-kill let one go; empty where the text has none.
std::string_view node_list(std::string_view text);

/// ClusterName of what `scontrol show config` prints; empty where the text has none.
std::string_view cluster_name(std::string_view text);

}  // namespace octet
