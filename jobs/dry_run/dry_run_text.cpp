#include "jobs/dry_run/dry_run_text.h"

#include <utility>

#include "jobs/dry_run/dry_machine.h"
#include "jobs/dry_run/dry_run_command.h"
#include "jobs/dry_run/run_lines.h"
#include "jobs/dry_run/step_lines.h"
#include "jobs/run/planned_run.h"
#include "src/base/log.h"
#include "src/cluster/environment/job_environment.h"
#include "src/comm/mesh_shape.h"
#include "src/run_config/checks/checks.h"
#include "src/train/plan/nccl_variables.h"
#include "src/train/step/run_settings.h"

namespace octet {
namespace {

/// The plan of the rank that is shown. It is there already if the rank stands for its stage.
MemoryPlan shown_plan(const PlannedRun& run, const DryCommand& c, const DryMachine& m) {
  const int rank = static_cast<int>(c.options.rank);
  for (std::size_t pp = 0; pp < run.memory.ranks.size(); ++pp) {
    if (rank_of_stage(c.mesh, pp) == rank) return run.memory.ranks[pp];
  }
  return plan_run(run.config, c.mesh, rank, m.ranks_on_node, DeviceType::cpu);
}

std::string memory_text(const PlannedRun& run, const DryCommand& c, const DryMachine& m) {
  const MemoryPlan plan = shown_plan(run, c, m);
  const RunConfig& config = run.config;
  std::string text = fmt::format("memory plan:\n{}", memory_table(plan, nullptr));
  if (fsdp_options(config, c.mesh.dp_shard).keep_transposed) {
    text += "  with transposed copies of 8-bit weights (float8.keep_transposed_weights)\n";
  }
  if (config.device == DeviceType::cuda) {
    text += "  with workspaces as large as those of the CPU's kernels; a GPU's are known with the GPU alone\n";
    if (config.cuda.deterministic) text += "  without what attention takes for cuda.deterministic\n";
  }
  if (c.mesh.pp == 1) return text + fit_text(plan, m, c.options.ranks);
  return text + fmt::format("memory of the pipeline's ranks:\n{}", pipeline_table(run.memory)) +
         fit_text(run.worst(), m, c.options.ranks);
}

PlannedNodes nodes_of(const DryMachine& m, const RunConfig& config) {
  return {
      .ranks_on_node = m.ranks_on_node,
      .nccl = m.cluster ? nccl_variables(*m.cluster, job_environment(*m.cluster, config.run_dir)) : nccl_variables(),
      .gpu_fits = [&m](const MemoryPlan& of) { return fits_gpu(of, m); }};
}

std::string dry_run_text(DryCommand c) {
  check_algorithm_file(c.run.config, c.run.origins);
  const DryMachine m = machine_of(c.options, c.run.config);
  if (m.gpu) check_gpu(c.run.config, m.gpu->compute_capability, c.run.origins, m.gpu->name);
  std::string text = fmt::format("rank {} of {}, {}, {} a node\n", c.options.rank, c.options.ranks, layout_text(c.mesh),
                                 m.ranks_on_node);
  text += zero_text(fsdp_options(c.run.config, c.mesh.dp_shard), c.mesh.dp_shard) + "\n";
  text += pipeline_lines(c);
  const NextStart start = next_start(c.run.config);
  text += schedule_line(start);
  text += mixture_lines(start);
  text += weights_line(start);
  const PlannedRun planned = plan_on(nodes_of(m, c.run.config), c.run.config, c.mesh);
  if (!planned.lacking_here.empty()) log::warning("{}", planned.lacking_here);
  c.run.config = planned.config;
  text += memory_text(planned, c, m);
  text += checkpoints_text(c.run.config);
  return text + step_text(c, m);
}

}  // namespace

std::string dry_run_text(const std::vector<std::string>& words, std::string (*answer)(const CommandLine&)) {
  DryCommand command = parse_dry_run(words);
  return command.run.action == CommandLine::Action::run ? dry_run_text(std::move(command)) : answer(command.run);
}

}  // namespace octet
