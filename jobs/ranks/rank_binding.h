#pragma once

#include <string>

#include "src/comm/communicator.h"
#include "src/comm/mpi/mpi_runtime.h"
#include "src/comm/nccl_settings.h"
#include "src/run_config/run_config.h"

namespace octet {

/// How the ranks are bound.
struct Binding {
  int ranks_on_same_cores = 1;  ///< ranks of this node that may use just this one's CPUs, with it
  std::string line{};           ///< of this rank: "rank 3 on n1, GPU 0000:5d:00.0: CPUs 42-55 (14 cores near its GPU)"
  std::string table{};          ///< all ranks' lines
  std::string cpu{};            ///< of this rank: processor, threads, GEMM input type and why (cpu_setup.h)
};

/// Binds this rank, all its threads, to its share of the cores that the job has on this node, near its GPU
/// (src/cluster/cores/core_plan.h), unless `config` has it off, OpenMP's own places are asked for in the environment
/// (OMP_PROC_BIND, OMP_PLACES, GOMP_CPU_AFFINITY), or ranks on CPUs run outside of a Slurm job, on a machine that
/// others use too. What the system refuses is told in the line and no error. Then sets the CPU up for that share
/// (set_up_cpu). Collective; before the device is opened and threads are started.
Binding bind_rank(const CpuConfig& config, DeviceType device, const NcclSettings& nccl, const MpiRuntime& mpi,
                  Communicator& control);

}  // namespace octet
