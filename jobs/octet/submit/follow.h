#pragma once

#include <string>
#include <vector>

namespace octet::submit {

// What happens to a submitted run. Each gets the arguments behind its name, the first of which is the run directory,
// and returns the exit code.

/// Jobs as squeue and sacct show them where they are, status.json, the last line of metrics.jsonl, where the log is.
/// Where Slurm does not answer soon this is told among the rest, and the code is that of an internal error.
int run_status(const std::vector<std::string>& arguments);
/// scancel of all jobs of the run that wait or run, and of no other run's. Internal error where Slurm does not do it.
int run_cancel(const std::vector<std::string>& arguments);
/// The end of the newest job's output, by tail.
int run_logs(const std::vector<std::string>& arguments);

}  // namespace octet::submit
