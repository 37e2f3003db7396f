#pragma once

#include <memory>

#include "src/comm/communicator.h"
#include "src/comm/mpi/mpi_runtime.h"
#include "src/comm/nccl_settings.h"

namespace octet {

/// The group by which a rank speaks with the others, even before it has a device. Made by all ranks together.
struct ControlGroup {
  ControlGroup();

  std::unique_ptr<Stream> stream;         ///< of the CPU
  std::unique_ptr<Communicator> control;  ///< src/comm/control_exchange.h
};

/// `device`: cpu, or cuda, of which the node's ranks take one after the other, `ranks_per_gpu` of them each. Ranks that
/// share one are told apart for NCCL (separate_ranks), with a warning: this comes before all that may load it. A GPU
/// that does not start ends all ranks as use_gpu_together (gpu_together.h) does. Collective.
Device& open_device(DeviceType device, const MpiRuntime& mpi, Communicator& control, const NcclSettings& settings);

/// All ranks for work on that stream: MPI between CPUs, NCCL between GPUs, `control` (MPI) introducing them to each
/// other. NCCL is told first, by the environment, whether it takes NVLink SHARP (nvls.h) and by what it is tuned
/// (nccl_tuner.h). Between GPUs, rank 0 warns where ranks of a node do not follow each other (node_order.h).
/// Collective; before there is any other communicator of NCCL.
std::unique_ptr<Communicator> make_world(Stream& stream, const MpiRuntime& mpi, Communicator& control,
                                         const NcclSettings& settings);

}  // namespace octet
