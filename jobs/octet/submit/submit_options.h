#pragma once

#include <string>
#include <utility>
#include <vector>

#include "jobs/run/command_line.h"
#include "src/base/options/schema.h"
#include "src/cluster/profile_words.h"

namespace octet::submit {

/// What is asked of a submission, beside the run itself.
struct SubmitOptions {
  std::string cluster;
  std::int64_t nodes = 0;
  std::int64_t spares = 0;
  std::int64_t chain = 1;
  std::string time, exclude, after;
  std::string slurm_version;  ///< empty: asked of sbatch
  /// As sbatch has them, in place of the profile's keys; empty: those.
  std::string account, partition, qos, constraint, reservation, mail_user, mail_type;
  bool dry_run = false, hold = false;
};

struct SubmitCommand {
  enum class Action { submit, help, print_profile, print_environment, print_reference };

  Action action = Action::submit;
  SubmitOptions options;
  ProfileOverrides profile_overrides;
  CommandLine run;  ///< resolved and validated
};

/// `RUN.yaml --cluster NAME --nodes N [OPTIONS] [--cluster.section.key VALUE]... [--section.key VALUE]...`;
/// the last are those of octet-train. What sbatch has a letter for may be given by it: -A project. A run directory
/// stands for its submitted.yaml, and is run.dir unless that is given: where it has been renamed or copied since, a
/// warning says so. It says the cluster and the nodes too, as its last job had them. Throws usage errors.
SubmitCommand parse_submit(const std::vector<std::string>& arguments);

/// Text of --help.
std::string submit_usage();

}  // namespace octet::submit
