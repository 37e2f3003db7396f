#include "jobs/run/planned_run.h"

#include <fmt/format.h>

#include <utility>

#include "kernels/cpu_settings.h"

namespace octet {
namespace {

/// The CPU's kernels take the workspaces that cpu.gemm has in the run, where auto is what it is here; and of a run on
/// GPUs, in which they stand in for the GPU's, those that are the same on every processor. Returns what this processor
/// lacks for such a run, empty for nothing.
std::string set_up_cpu_to_plan(const RunConfig& config) {
  const auto gemm = config.device == DeviceType::cpu ? config.cpu.gemm : cpu::GemmInputChoice::f32;
  if (cpu::plan_with_gemm_input(gemm)) return "";
  return fmt::format("cpu.gemm = {}: this processor has no AVX-512 bf16; the run is refused where its nodes have none",
                     gemm);
}

}  // namespace

PlannedRun plan_on(const PlannedNodes& nodes, RunConfig config, const MeshShape& mesh) {
  std::string lacking = set_up_cpu_to_plan(config);
  config.nccl.variables = nodes.nccl;
  FittedPipeline fitted = fit_pipeline(std::move(config), mesh, nodes.ranks_on_node, DeviceType::cpu, nodes.gpu_fits);
  return {.config = std::move(fitted.config), .memory = std::move(fitted.memory), .lacking_here = std::move(lacking)};
}

}  // namespace octet
