#include "jobs/run/planned_run.h"

#include <utility>

#include "src/train/start/cpu_setup.h"

namespace octet {

PlannedRun plan_on(const PlannedNodes& nodes, RunConfig config, const MeshShape& mesh) {
  std::string lacking = set_up_cpu_to_plan(config);
  config.nccl.variables = nodes.nccl;
  FittedPipeline fitted = fit_pipeline(std::move(config), mesh, nodes.ranks_on_node, DeviceType::cpu, nodes.gpu_fits);
  return {.config = std::move(fitted.config), .memory = std::move(fitted.memory), .lacking_here = std::move(lacking)};
}

}  // namespace octet
