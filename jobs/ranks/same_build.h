#pragma once

#include <string>

#include "src/comm/communicator.h"
#include "src/comm/mpi/mpi_runtime.h"

namespace octet {

/// What tells a program's build from another one.
struct Build {
  std::string source;  ///< "octet 0.5.0, commit 0123456789ab"
  std::string made;    ///< "Release, GNU 12.2.0, -march=x86-64-v4, devices cpu, built with HDF5 1.10.8, ..."
};

/// Ranks send each other what only their own build can read (src/comm/packing.h), so that nothing is packed before they
/// know that they are of one. Where the sources differ all ranks throw the same usage error, which names nodes, ranks
/// and builds. Where only compilers or libraries differ, rank 0 warns. Collective over all ranks.
void require_same_build(const MpiRuntime& mpi, const Build& build);
/// The same over `control`, of a rank on that node, for tests.
void require_same_build(Communicator& control, const std::string& node, const Build& build);

}  // namespace octet
