#pragma once

#include <string>
#include <vector>

namespace octet::submit {

/// A job that was submitted for a run; a line of jobs.jsonl in its directory.
struct JobRecord {
  std::string id;    ///< Slurm's
  std::string name;  ///< --job-name, the same for all jobs of a run
  std::string cluster;
  std::int64_t nodes = 0;
  std::string time{};  ///< of the submission, in UTC
  // Nothing in records of an older version:
  std::int64_t spares = 0;  ///< beside the nodes
  std::string run_dir{};    ///< in which it trains
  std::int64_t steps = 0;   ///< of the run, all told, as this job knows it
  std::string settings{};   ///< the same for jobs that do the same: settings_mark
};

/// The name of a run's jobs: that of its directory and a sign that tells runs with equal names apart, since jobs of one
/// name wait for each other. Of its canonical path: two paths to one directory are one run. It has no comma: squeue
/// takes --name as a list.
std::string job_name(const std::string& run_dir);

/// A sign that tells jobs that do the same from others: of all that was asked of them, a text each, such as the
/// configuration that they train, their cluster's profile and the nodes that they avoid.
std::string settings_mark(const std::vector<std::string>& asked);

/// Appends a line, on one of its own where the last was broken off.
void record_job(const std::string& run_dir, const JobRecord& job);

/// Oldest first; empty where none was submitted. A line that was broken off, as by a kill, is left out with a warning.
/// Usage error for a damaged file, not_read for one that cannot be read.
std::vector<JobRecord> recorded_jobs(const std::string& run_dir);

}  // namespace octet::submit
