#pragma once

#include <string>
#include <vector>

#include "jobs/octet/submit/program.h"
#include "jobs/octet/submit/run_record.h"

namespace octet::submit {

/// A run directory and the jobs that were submitted for it.
struct SubmittedRun {
  std::string path;             ///< absolute
  std::vector<JobRecord> jobs;  ///< its own
  /// Where the directory is a copy: those in its jobs.jsonl that the run has which it was copied from.
  std::vector<JobRecord> jobs_of_original{};
  std::string original{};  ///< that run's directory

  bool is_copy() const { return !jobs_of_original.empty(); }
};

/// run.dir of the submitted.yaml in a run directory; empty where that does not say it.
std::string submitted_directory(const std::string& run_dir);

/// Usage error where no job was submitted for it. `by_hand`: a run that was started without a job is one too.
SubmittedRun open_run(const std::string& path, bool by_hand = false);

/// A job that waits or runs.
struct QueuedJob {
  std::string id;
  std::string text;  ///< its state, for a person
};

/// What Slurm said of the run's jobs.
struct Queue {
  std::vector<QueuedJob> jobs{};
  /// With a name of one of the run's jobs and another script, which is their text: it is not known whose they are.
  std::vector<QueuedJob> namesakes{};
  SlurmAnswer answer{};
};

/// Asks squeue for the jobs of the run; it has so many seconds.
Queue ask_queue(const SubmittedRun& run, double seconds);

}  // namespace octet::submit
