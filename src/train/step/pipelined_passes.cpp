#include "src/train/step/pipelined_passes.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "src/base/error.h"
#include "src/model/stages.h"
#include "src/parallel/pipeline/pipeline_check.h"
#include "src/parallel/pipeline/rendezvous.h"
#include "src/train/options/option_texts.h"

namespace octet {

/// Lets messages get on whenever the model asks for the weights of the next unit. A forward pass writes what it leaves
/// for the next stage, or the gradient that its head makes, with its last unit: there it waits for the messages that
/// still leave from the same place, which travel beside all units before.
class PipelinedPasses::PolledWeights final : public WeightProvider {
 public:
  PolledWeights(WeightProvider& inner, StageLinks& links) : inner_(inner), links_(links) {}
  void begin_forward(int slot, int last_unit) {
    slot_ = slot;
    last_unit_ = last_unit;
  }
  void begin_pass(std::span<const int> order) override { inner_.begin_pass(order); }
  std::span<const Tensor> gather(int unit) override {
    links_.poll();
    if (unit == last_unit_) {
      links_.await_sends(slot_);
      last_unit_ = nothing;
    }
    return inner_.gather(unit);
  }
  std::span<const Tensor> transposed(int unit) override { return inner_.transposed(unit); }
  void release(int unit) override { inner_.release(unit); }

 private:
  static constexpr int nothing = -1;

  WeightProvider& inner_;
  StageLinks& links_;
  int slot_ = 0;
  int last_unit_ = nothing;
};

namespace {

Shape stream_shape(const LlamaSettings& s) {
  return {s.micro_batch * s.seq_len / s.tp.count, s.model.dim};
}

/// All stages, in their order.
std::vector<UnitRange> pipeline_stages(const RunConfig& config) {
  const ParallelConfig& p = config.parallel;
  const std::vector<std::int64_t> blocks = parse_pp_layout(p.pp_layout).value();
  if (!blocks.empty()) return stages_of_blocks(config.model, blocks);
  return even_stages(config.model, config.train.seq_len, static_cast<int>(p.pp * p.pp_chunks));
}

PipelineShape shape_of(const RunConfig& config, const MeshShape& mesh) {
  const std::int64_t sequences = config.train.micro_batch * mesh.dp_replicate * mesh.dp_shard;
  return pipeline_shape(config.parallel, static_cast<int>(config.train.global_batch / sequences));
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

PipelinedPasses::PipelinedPasses(const PipelinePlan& plan, ShardedModel& model, const LlamaSettings& settings,
                                 Mesh& mesh, Stream& stream)
    : plan_(plan),
      model_(model),
      links_(mesh.pp(), stream, plan.landings, stream_shape(settings), storage_dtype(settings.precision)) {}

void PipelinedPasses::train(const Data& data) {
  run(plan_.train, data, true);
}

void PipelinedPasses::evaluate(const Data& data) {
  run(plan_.evaluate, data, false);
}

void PipelinedPasses::run(const std::vector<PipelineStep>& steps, const Data& data, bool trains) {
  announce(steps);
  Llama& llama = model_.llama();
  PolledWeights weights(model_.weights(), links_);
  for (const PipelineStep& step : steps) {
    switch (step.kind) {
      case PipelineStep::Kind::send:
        links_.send(step, llama.out(step.slot));
        break;
      case PipelineStep::Kind::receive:
        links_.receive(step, step.direction() == Direction::up ? llama.out(step.slot) : Tensor{});
        break;
      case PipelineStep::Kind::pass:
        run_pass(step, data, trains, weights);
    }
  }
  links_.await_all_sends();
}

void PipelinedPasses::run_pass(const PipelineStep& step, const Data& data, bool trains, PolledWeights& weights) {
  Llama& llama = model_.llama();
  const bool gets_gradient = step.pass.kind == PassKind::backward || step.pass.kind == PassKind::input_gradient;
  if (gets_gradient && step.peer >= 0) links_.take(step, llama.out(step.slot));
  switch (step.pass.kind) {
    case PassKind::forward: {
      if (trains) {
        weights.begin_forward(step.slot, plan_.stages[static_cast<std::size_t>(step.pass.chunk)].end - 1);
      } else {
        links_.await_sends(step.slot);  // with the head it leaves nothing, and has other activations in that place
      }
      const Tensor input = llama.begin(step.slot, trains, step.pass.chunk);
      if (step.peer >= 0) links_.take(step, input);
      return llama.forward(step.slot, data(step.pass.micro_batch, step.pass.chunk, step.slot), weights,
                           trains ? &model_.sink() : nullptr);
    }
    case PassKind::backward:
      return llama.backward(step.slot, weights, model_.sink());
    case PassKind::input_gradient:
      return llama.backward_of_inputs(step.slot, weights, model_.sink());
    case PassKind::weight_gradient:
      return llama.backward_of_weights(step.slot, model_.sink());
  }
}

/// Weight gradients ask for no weights.
void PipelinedPasses::announce(const std::vector<PipelineStep>& steps) {
  std::vector<int> order;
  for (const PipelineStep& step : steps) {
    if (step.kind != PipelineStep::Kind::pass || step.pass.kind == PassKind::weight_gradient) continue;
    const Llama& llama = model_.llama();
    const auto units = step.pass.kind == PassKind::forward ? llama.forward_units(step.pass.chunk)
                                                           : llama.backward_units(step.pass.chunk);
    order.insert(order.end(), units.begin(), units.end());
  }
  model_.weights().begin_pass(order);
}

}  // namespace octet
