#pragma once

#include <string>

#include "src/comm/communicator.h"
#include "src/comm/mpi/mpi_runtime.h"

namespace octet {

/// Warns where the libraries that compute are not the same for all ranks (`versions`, of this rank), naming nodes and
/// ranks: the bits of a step then depend on the nodes that a job gets. Rank 0 says it, once. Collective over `control`.
void warn_of_other_libraries(Communicator& control, const std::string& node, const std::string& versions);

/// The same of the libraries of the GPU that the stream is of, which it loads as use_gpu_together (gpu_together.h)
/// does. Nothing on a CPU, or for one rank. Collective.
void warn_of_other_libraries(Stream& stream, const MpiRuntime& mpi, Communicator& control);

}  // namespace octet
