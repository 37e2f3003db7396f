#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/comm/communicator.h"
#include "src/data/sampler.h"
#include "src/train/options/run_config.h"

namespace octet {

// What a start costs the file system must not grow with the number of ranks times that of files. One rank of each node
// looks whether the data are there. Each pair of files is validated, and its fingerprint made, by one rank of the run,
// which tells the others; those open a file when its first window is read.

/// The data of a run. All ranks throw the same usage error for files that are missing or damaged, with the option that
/// names them; as files::read_together where a host does not see, or cannot read, what others do. Collective over the
/// hosts, main thread.
std::unique_ptr<Sampler> open_data(const RunConfig& config, Communicator& hosts);

}  // namespace octet
