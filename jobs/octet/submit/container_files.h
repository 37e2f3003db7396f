#pragma once

#include <string>

#include "src/cluster/job_script.h"
#include "src/run_config/run_config.h"

namespace octet::submit {

/// Programs of the run directory that start in a container what is there alone; empty: the job needs none.
struct ContainerFiles {
  std::string octet_train;  ///< octet-train.sh
  std::string octet;        ///< octet.sh
};

/// Has the job start its programs in the container that its profile names, if it names one. `config`: of the run, with
/// absolute paths. Usage error for a folder of it that cannot be mounted there.
ContainerFiles set_container(JobScript& job, const RunConfig& config);

}  // namespace octet::submit
