#pragma once

#include <string>
#include <vector>

#include "jobs/run/command_line.h"
#include "src/comm/mpi/mpi_runtime.h"
#include "src/train/run/stop_request.h"

namespace octet {

/// One rank of the run: binds it to its cores, claims the run's directory, makes device, communicators and mesh, and
/// trains until the run ends or `stop` is asked for. `words`: the command, for what is told of how to go on. Returns
/// the exit code. Collective; throws the same on all ranks where the run cannot be so.
int train_rank(const CommandLine& command, const std::vector<std::string>& words, MpiRuntime& mpi,
               const StopSignal& stop);

}  // namespace octet
