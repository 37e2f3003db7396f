#include "jobs/dry_run/dry_run_text.h"

#include <utility>

#include "jobs/dry_run/dry_machine.h"
#include "jobs/dry_run/dry_run_command.h"
#include "jobs/dry_run/run_lines.h"
#include "jobs/dry_run/step_lines.h"
#include "src/cluster/environment/job_environment.h"
#include "src/comm/mesh_shape.h"
#include "src/train/options/checks.h"
#include "src/train/plan/memory_plan.h"
#include "src/train/plan/nccl_variables.h"
#include "src/train/start/cpu_setup.h"
#include "src/train/step/run_settings.h"

namespace octet {
namespace {

std::string memory_text(const MemoryPlan& plan, const DryCommand& c, const DryMachine& m) {
  const RunConfig& config = c.run.config;
  std::string text = fmt::format("memory plan:\n{}", memory_table(plan, nullptr));
  if (fsdp_options(config, c.mesh.dp_shard).keep_transposed) {
    text += "  with transposed copies of 8-bit weights (float8.keep_transposed_weights)\n";
  }
  if (config.device == DeviceType::cuda) {
    text += "  with workspaces as large as those of the CPU's kernels; a GPU's are known with the GPU alone\n";
    if (config.cuda.deterministic) text += "  without what attention takes for cuda.deterministic\n";
  }
  if (c.mesh.pp == 1) return text + fit_text(plan, m, c.options.ranks);
  const PipelineMemory pipeline = plan_pipeline(config, c.mesh, m.ranks_on_node, DeviceType::cpu);
  return text + fmt::format("memory of the pipeline's ranks:\n{}", pipeline_table(pipeline)) +
         fit_text(pipeline.ranks[pipeline.worst()], m, c.options.ranks);
}

std::string dry_run_text(DryCommand c) {
  check_plan_file(c.run.config, c.run.origins);
  const DryMachine m = machine_of(c.options, c.run.config);
  if (m.gpu) check_gpu(c.run.config, m.gpu->compute_capability, c.run.origins, m.gpu->name);
  c.run.config.nccl.variables =
      m.cluster ? nccl_variables(*m.cluster, job_environment(*m.cluster, c.run.config.run_dir)) : nccl_variables();
  if (c.run.config.device == DeviceType::cpu) {
    set_up_cpu(c.run.config.cpu, m.ranks_on_node);  // for its workspaces
  } else {
    set_up_cpu_to_plan_for_gpus();
  }
  std::string text = fmt::format("rank {} of {}, {}, {} a node\n", c.options.rank, c.options.ranks, layout_text(c.mesh),
                                 m.ranks_on_node);
  text += zero_text(fsdp_options(c.run.config, c.mesh.dp_shard), c.mesh.dp_shard) + "\n";
  text += pipeline_lines(c);
  const NextStart start = next_start(c.run.config);
  text += schedule_line(start);
  text += mixture_lines(start);
  text += weights_line(start);
  const FittedRun fitted = fit_run(c.run.config, c.mesh, static_cast<int>(c.options.rank), m.ranks_on_node,
                                   DeviceType::cpu, [&](const MemoryPlan& of) { return fits_gpu(of, m); });
  c.run.config = fitted.config;
  text += memory_text(fitted.plan, c, m);
  text += checkpoints_text(c.run.config);
  return text + step_text(c, m);
}

}  // namespace

std::string dry_run(const std::vector<std::string>& words, std::string (*answer)(const CommandLine&)) {
  DryCommand command = parse_dry_run(words);
  return command.run.action == CommandLine::Action::run ? dry_run_text(std::move(command)) : answer(command.run);
}

}  // namespace octet
