#pragma once

#include <memory>
#include <string>

#include "src/comm/communicator.h"

namespace octet {

/// All ranks of MPI_COMM_WORLD with MPI's own blocking collectives, to measure ours against: MPI_Allgather,
/// MPI_Reduce_scatter_block, MPI_Allreduce, MPI_Alltoall, MPI_Bcast. Sums are formed in MPI's order, and MPI decides
/// what a maximum with a NaN is. Calls of a group are made at once and not merged. A call that hangs is detected by the
/// watchdog's thread alone. All else (sends, splits, the barrier) is that of make_mpi_communicator. Collective; for a
/// CPU stream.
std::unique_ptr<Communicator> make_plain_mpi_communicator(Stream& stream, std::string name);

/// "MPICH Version: 4.0.2", the first line of what MPI says of itself.
std::string mpi_library();

}  // namespace octet
