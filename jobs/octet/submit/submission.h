#pragma once

#include <string>
#include <vector>

#include "jobs/octet/submit/container_files.h"
#include "jobs/octet/submit/submit_options.h"
#include "src/cluster/job_script.h"

namespace octet::submit {

/// A file of the run directory that a submission leaves there.
struct PlannedFile {
  std::string name;  ///< within the run directory
  std::string text;  ///< empty where it is not known before sbatch has answered
  bool is_program = false;
  std::string note{};  ///< for a file without its text: what it will hold
};

/// A run that is ready to be submitted.
struct Submission {
  CommandLine run;  ///< with an absolute run.dir and absolute paths of data
  JobScript job;
  std::string script;    ///< job.sh
  std::string run_yaml;  ///< submitted.yaml, if it is not there yet
  ContainerFiles container;
  std::vector<std::string> notes;  ///< of check_submission

  /// What write_run_directory writes, and what sbatch's answers add to, jobs.jsonl.
  std::vector<PlannedFile> files(std::int64_t chain) const;
};

/// Resolves paths, checks everything (submit_checks.h) and renders the script. Writes nothing. A dry run goes on where
/// data or programs are not there, and notes it. The first submission of a run directory decides its submitted.yaml;
/// what a later one wants otherwise becomes options of its job's octet-train.
Submission prepare(const SubmitCommand& command, const ClusterProfile& profile, SlurmVersion slurm);

/// Writes the files whose text is known. Usage error where the run directory cannot be written.
void write_run_directory(const Submission& submission);

}  // namespace octet::submit
