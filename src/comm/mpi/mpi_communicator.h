#pragma once

#include <memory>
#include <string>

#include "src/comm/communicator.h"

namespace octet {

/// All ranks of MPI_COMM_WORLD (a duplicate of it), for CPU streams. Collective. MPI must be initialised and outlive
/// the communicator and all that is split from it.
///
/// Underneath everything is non-blocking and polled with MPI_Test and sched_yield, because MPICH's own waits spin: with
/// more ranks than cores a blocking all-gather takes hundreds of times longer. Reductions exchange pieces and fold them
/// in rank order, never MPI_SUM, so that the bits do not depend on MPI.
std::unique_ptr<Communicator> make_mpi_communicator(Stream& stream, std::string name);

}  // namespace octet
