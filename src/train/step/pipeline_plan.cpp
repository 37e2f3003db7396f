#include "src/train/step/pipeline_plan.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "src/base/error.h"
#include "src/parallel/pipeline/pipeline_check.h"
#include "src/parallel/pipeline/rendezvous.h"
#include "src/run_config/options/option_texts.h"

namespace octet {
namespace {

/// All stages, in their order.
std::vector<UnitRange> pipeline_stages(const RunConfig& config) {
  const ParallelConfig& p = config.parallel;
  const std::vector<std::int64_t> blocks = parse_pp_layout(p.pp_layout).value();
  if (!blocks.empty()) return stages_of_blocks(config.model, blocks);
  return even_stages(config.model, config.train.seq_len, static_cast<int>(p.pp * p.pp_chunks));
}

PipelineShape shape_of(const RunConfig& config, const MeshShape& mesh) {
  const std::int64_t data_parallel = std::int64_t{mesh.dp_replicate} * mesh.dp_shard;
  return pipeline_shape(config.parallel, static_cast<int>(config.train.micro_batches(data_parallel)));
}

/// Whether a unit's backward leaves no weight gradients for later: a block whose inputs of linears do not stay.
bool makes_all_at_once(const RecomputePolicy& recompute, const ModelConfig& model, int unit) {
  const std::int64_t layer = unit - block_unit(0);
  return layer >= 0 && layer < model.layers && recompute.applies(layer);
}

}  // namespace

std::vector<StageTimes> stage_flops(const RunConfig& config) {
  const std::vector<double> flops = unit_flops(config.model, config.train.seq_len);
  const RecomputePolicy recompute = RecomputePolicy::of(config.recompute, config.model.layers);
  std::vector<StageTimes> times;
  for (const UnitRange& s : pipeline_stages(config)) {
    StageTimes& stage = times.emplace_back(StageTimes{.forward = 0, .input_gradient = 0, .weight_gradient = 0});
    for (int unit = s.begin; unit < s.end; ++unit) {
      const double third = flops[static_cast<std::size_t>(unit)] / 3;
      const bool at_once = makes_all_at_once(recompute, config.model, unit);
      stage.forward += third;
      stage.input_gradient += at_once ? 2 * third : third;
      stage.weight_gradient += at_once ? 0 : third;
    }
  }
  return times;
}

ClockedPasses clocked_passes(const RunConfig& config, const MeshShape& mesh) {
  ClockedPasses c{.shape = shape_of(config, mesh), .passes = {}, .times = {}};
  c.passes = make_passes(c.shape);
  c.times = run_clock(c.shape, c.passes, stage_flops(config));
  return c;
}

std::string pipeline_text(const RunConfig& config, const MeshShape& mesh) {
  const auto [shape, passes, times] = clocked_passes(config, mesh);
  const std::vector<UnitRange> stages = pipeline_stages(config);
  std::vector<int> blocks;
  blocks.reserve(stages.size());
  for (const UnitRange& s : stages) {
    blocks.push_back(std::min(s.end, head_unit(config.model)) - std::max(s.begin, block_unit(0)));
  }
  return fmt::format(
      "pipeline: {} stages of {} blocks{}, {}, {} micro-batches a step; by FLOPs ranks wait {:.1f} % of the time",
      stages.size(), fmt::join(blocks, ", "), shape.chunks == 1 ? "" : fmt::format(", {} a rank", shape.chunks),
      shape.order, shape.micro_batches, 100 * times.bubble_share());
}

PipelinePlan pipeline_plan(const RunConfig& config, const MeshShape& mesh, int pp_rank) {
  if (mesh.pp == 1) return {};
  const PipelineShape shape = shape_of(config, mesh);
  const PipelineSteps train = make_steps(shape);
  const PipelineSteps evaluate = make_steps(shape, make_forward_passes(shape));
  for (const auto& problems : {problems_of(train), problems_of_transfers(evaluate)}) {
    if (!problems.empty()) throw internal_error("train", "{}", problems.front());
  }
  const std::vector<UnitRange> stages = pipeline_stages(config);
  PipelinePlan plan;
  for (int chunk = 0; chunk < shape.chunks; ++chunk) {
    plan.stages.push_back(stages[static_cast<std::size_t>(shape.stage(pp_rank, chunk))]);
  }
  plan.train = train.ranks[static_cast<std::size_t>(pp_rank)];
  plan.evaluate = evaluate.ranks[static_cast<std::size_t>(pp_rank)];
  plan.slots = std::max(train.slots(pp_rank), evaluate.slots(pp_rank));
  plan.landings = std::max(train.landings(pp_rank), evaluate.landings(pp_rank));
  return plan;
}

}  // namespace octet
