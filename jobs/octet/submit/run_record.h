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
};

/// The name of a run's jobs: that of its directory and a sign that tells runs with equal names apart, since jobs of one
/// name wait for each other. Of its canonical path: two paths to one directory are one run. It has no comma: squeue
/// takes --name as a list.
std::string job_name(const std::string& run_dir);

/// Appends a line.
void record_job(const std::string& run_dir, const JobRecord& job);

/// Notes the jobs of one chain so far, for their scripts: a line of RUN/job/chains.txt, which has those of an earlier
/// line of the chain too.
void record_chain(const std::string& run_dir, const std::vector<std::string>& ids);

/// Oldest first; empty where none was submitted. Usage error for a damaged file.
std::vector<JobRecord> recorded_jobs(const std::string& run_dir);

}  // namespace octet::submit
