#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/cluster/profile.h"
#include "src/cluster/slurm_version.h"

namespace octet {

/// What a job's script is made of. Paths are absolute.
struct JobScript {
  ClusterProfile profile;
  std::string name;  ///< --job-name
  std::string run_dir;
  std::string run_config;   ///< YAML file for octet-train
  std::string working_dir;  ///< relative paths of the run begin here
  std::string octet, octet_train;
  std::string octet_in_step{};                   ///< octet within a step of container_options; empty: as octet
  std::vector<std::string> container_options{};  ///< srun's, for steps in a container (pyxis_options)
  std::int64_t nodes = 1;                        ///< to train on
  std::int64_t spares = 0;                       ///< further nodes of the allocation
  std::int64_t steps = 0;                        ///< of the run, all told
  std::string time;                              ///< limit, in one of sbatch's forms (slurm_job.h)
  std::string exclude;                           ///< host list; empty: none
  std::string after;                             ///< job after whose end this one may start; empty: none
  std::int64_t lead_seconds = 0;                 ///< from the stop signal to the limit
  std::vector<std::string> train_options;        ///< words for octet-train behind run_config
  SlurmVersion slurm = oldest_slurm;             ///< what the script may ask for
  std::vector<EnvironmentValue> environment;

  std::int64_t ranks() const { return nodes * profile.ranks_per_node(); }
};

/// The script: lines of #SBATCH, environment, settings (NAME=value, for the body), and the body as it stands.
std::string render(const JobScript& job, std::string_view body);

/// The lines of a script that put the environment of a job in force, for a shell that measures as the job would run.
std::string environment_lines(const ClusterProfile& profile, const std::vector<EnvironmentValue>& environment);

/// Seconds before the time limit at which a job is told to stop, where the last checkpoint took `checkpoint_seconds`
/// from its begin to its commit (0: not known): twice that and a minute, since Slurm's signal can be late by one, and
/// no less than `least`, the profile's minimum.
std::int64_t stop_lead_seconds(std::int64_t least, double checkpoint_seconds);

}  // namespace octet
