#pragma once

#include <string>
#include <vector>

#include "jobs/octet/submit/submit_options.h"
#include "src/cluster/job_script.h"

namespace octet::submit {

/// A run that is ready to be submitted.
struct Submission {
  CommandLine run;  ///< with an absolute run.dir and absolute paths of data
  JobScript job;
  std::string script;     ///< job.sh
  std::string run_yaml;   ///< submitted.yaml, if it is not there yet
  std::string container;  ///< octet-train.sh, which starts the program in its container; empty: none
};

/// Resolves paths, checks everything (checks.h) and renders the script. Writes nothing. The first submission of a run
/// directory decides its submitted.yaml; what a later one wants otherwise becomes options of its job's octet-train.
Submission prepare(const SubmitCommand& command, const ClusterProfile& profile, SlurmVersion slurm);

/// Writes submitted.yaml, job.sh and octet-train.sh. Usage error where the run directory cannot be written.
void write_run_directory(const Submission& submission);

}  // namespace octet::submit
