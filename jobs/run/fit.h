#pragma once

#include "src/cluster/profile.h"
#include "src/metrics/peak.h"
#include "src/run_config/run_config.h"
#include "src/train/plan/memory_plan.h"

namespace octet {

/// What ranks with that memory plan take of a cluster's GPUs and nodes, and what these have. GiB.
struct Fit {
  double gpu = 0, of_gpu = 0;    ///< of_gpu 0: the nodes have no GPUs
  double node = 0, of_node = 0;  ///< memory of the hosts, of all ranks of a node; of_node 0: not known

  bool gpu_fits() const { return of_gpu == 0 || gpu <= of_gpu; }
  bool node_fits() const { return of_node == 0 || node <= of_node; }
};

/// Usage error where the run's device is not that of the cluster's nodes.
void check_cluster_device(const RunConfig& config, const ClusterProfile& profile);

/// Rank 0 stands for all: no plan of another rank is larger. `ranks_on_node`: of the run.
Fit fit_of(const MemoryPlan& plan, const ClusterProfile& profile, int ranks_on_node);
/// The same of one GPU, of whose node nothing is known.
Fit fit_of(const MemoryPlan& plan, const GpuSheet& gpu);

}  // namespace octet
