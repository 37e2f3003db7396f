#pragma once

#include "jobs/octet/submit/submit_options.h"
#include "src/cluster/profile.h"

namespace octet::submit {

/// What would end the job after it has waited in the queue, found before: throws a usage error for a layout that does
/// not fit the nodes, more memory than GPUs or nodes have, data that cannot be read or are too few, a device that is
/// not the cluster's, a run that could not be resumed, a finished one, and a time limit that is shorter than the lead.
/// Prints the layout, the planned memory and what is advised for the file system of the run directory. `run.config` has
/// absolute paths.
void check_submission(const CommandLine& run, const SubmitOptions& options, const ClusterProfile& profile,
                      std::int64_t lead_seconds);

}  // namespace octet::submit
