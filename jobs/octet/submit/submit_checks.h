#pragma once

#include "jobs/octet/submit/submit_options.h"
#include "src/cluster/job_script.h"

namespace octet::submit {

/// What would end the job after it has waited in the queue, found before: throws a usage error for a layout that does
/// not fit the nodes, more memory than GPUs or nodes have, data that cannot be read or are too few, a device that is
/// not the cluster's, GPUs that lack the recipe's GEMMs, a program that was built without it, a run that could not be
/// resumed, a finished one, a tuning file that the ranks would not take, and a time limit that is shorter than the
/// lead. Of a dry run, which may be made elsewhere, data and programs that are not there are no errors. Returns a
/// sentence for each check that could not be made, such as what this processor lacks and the nodes' may have, and of a
/// dry run for a program without CUDA. Prints the layout, the
/// planned memory, what is advised for the file system of the run directory, and a warning of another cluster's tuning
/// file. `run.config` has absolute paths.
std::vector<std::string> check_submission(const CommandLine& run, const SubmitOptions& options,
                                          const ClusterProfile& profile, const JobScript& job);

}  // namespace octet::submit
