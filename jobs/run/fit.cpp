#include "jobs/run/fit.h"

#include <string>

#include "src/base/error.h"

namespace octet {
namespace {

double device_gib(const MemoryPlan& plan) {
  return static_cast<double>(plan.total() + plan.nccl) / 0x1p30;
}

}  // namespace

void check_cluster_device(const RunConfig& config, const ClusterProfile& p) {
  const DeviceType expected = p.gpus.per_node > 0 ? DeviceType::cuda : DeviceType::cpu;
  if (config.device == expected) return;
  throw usage_error("config", "device = {}: the nodes of {} have {} GPUs, expected --device {}", config.device, p.name,
                    p.gpus.per_node > 0 ? std::to_string(p.gpus.per_node) : "no", expected);
}

Fit fit_of(const MemoryPlan& plan, const ClusterProfile& p, int ranks_on_node) {
  const auto ranks = static_cast<double>(ranks_on_node);
  const double device = device_gib(plan), host = static_cast<double>(plan.host) / 0x1p30;
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

Fit fit_of(const MemoryPlan& plan, const GpuSheet& gpu) {
  return {.gpu = device_gib(plan), .of_gpu = gpu.memory_gib - GpuProfile().reserved_gib};
}

}  // namespace octet
