#pragma once

#include <functional>
#include <string_view>

#include "src/comm/mpi/mpi_runtime.h"
#include "src/comm/watchdog.h"

namespace octet {

/// The first thing in the main of a program whose processes are ranks: what has to be in the environment before there
/// are threads and MPI, which may start CUDA.
void prepare_rank_process();

/// What one rank does; returns the exit code, the same on each.
using RankBody = std::function<int(Watchdog& watchdog, MpiRuntime& mpi, int argc, char** argv)>;

/// The main of such a program: answers --version, brings MPI up, and calls `body` once all ranks are known to be of one
/// build. Returns the exit code, after a message where something was thrown.
int rank_main(std::string_view program, int argc, char** argv, const RankBody& body);

}  // namespace octet
