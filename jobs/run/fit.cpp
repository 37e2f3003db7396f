#include "jobs/run/fit.h"

namespace octet {

Fit fit_of(const MemoryPlan& plan, const ClusterProfile& p) {
  constexpr double gib = 0x1p30;
  const auto ranks = static_cast<double>(p.ranks_per_node());
  const double device = static_cast<double>(plan.total() + plan.nccl) / gib,
               host = static_cast<double>(plan.host) / gib;
  Fit fit{.of_node = static_cast<double>(p.nodes.memory_gib)};
  if (p.gpus.per_node == 0) {
    fit.node = ranks * (device + host);
    return fit;
  }
  fit.gpu = device;
  fit.of_gpu = p.gpus.memory_gib - p.gpus.reserved_gib;
  fit.node = ranks * host;
  return fit;
}

}  // namespace octet
