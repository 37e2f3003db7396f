#pragma once

#include <memory>
#include <string>

#include "src/comm/communicator.h"
#include "src/comm/mpi/mpi_runtime.h"
#include "src/comm/nccl_settings.h"

namespace octet {

/// `device`: cpu, or cuda, of which the node's ranks take one after the other, `ranks_per_gpu` of them each. Ranks that
/// share one are told apart for NCCL (separate_ranks), with a warning: this comes before all that may load it.
Device& open_device(DeviceType device, const MpiRuntime& mpi, const NcclSettings& settings);

/// All ranks for work on that stream: MPI between CPUs, NCCL between GPUs, `hosts` (MPI) introducing them to each
/// other. Collective.
std::unique_ptr<Communicator> make_world(Stream& stream, Communicator& hosts, const NcclSettings& settings);

}  // namespace octet
