#pragma once

#include <string>
#include <vector>

#include "jobs/octet/submit/program.h"
#include "jobs/octet/submit/run_record.h"

namespace octet::submit {

/// A run directory and the jobs that were submitted for it.
struct SubmittedRun {
  std::string path;  ///< absolute
  std::vector<JobRecord> jobs;
};

/// Usage error where no job was submitted for it. `by_hand`: a run that was started without a job is one too.
SubmittedRun open_run(const std::string& path, bool by_hand = false);

/// A job that waits or runs.
struct QueuedJob {
  std::string id;
  std::string text;  ///< its state, for a person
};

/// What Slurm said of the run's jobs.
struct Queue {
  std::vector<QueuedJob> jobs;
  SlurmAnswer answer;
};

/// Asks squeue for the jobs of the run; it has so many seconds.
Queue ask_queue(const SubmittedRun& run, double seconds);

}  // namespace octet::submit
