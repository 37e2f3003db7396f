#include "src/train/step/pipelined_passes.h"

namespace octet {

/// Lets messages make progress whenever the model asks for the weights of the next unit. With its last unit, a forward
/// pass writes what it leaves for the next stage, or the gradient that its head makes: only there it waits for messages
/// that are still leaving from the same memory. So they can travel beside all units before the last.
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

}  // namespace

PipelinedPasses::PipelinedPasses(const PipelinePlan& plan, ShardedModel& model, const LlamaSettings& settings,
                                 Mesh& mesh, Stream& stream)
    : plan_(plan),
      model_(model),
      links_(mesh.pp(), stream, plan.landings, stream_shape(settings), storage_dtype(settings.precision)) {}

void PipelinedPasses::train_passes(const Data& data) {
  run(plan_.train, data, PassMode::training);
}

void PipelinedPasses::validation_passes(const Data& data) {
  run(plan_.evaluate, data, PassMode::forward_only);
}

void PipelinedPasses::run(const std::vector<PipelineStep>& steps, const Data& data, PassMode mode) {
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
        run_pass(step, data, mode, weights);
    }
  }
  links_.await_all_sends();
}

void PipelinedPasses::run_pass(const PipelineStep& step, const Data& data, PassMode mode, PolledWeights& weights) {
  Llama& llama = model_.llama();
  const bool gets_gradient = step.pass.kind == PassKind::backward || step.pass.kind == PassKind::input_gradient;
  if (gets_gradient && step.peer >= 0) links_.take(step, llama.out(step.slot));
  switch (step.pass.kind) {
    case PassKind::forward: {
      const bool trains = mode == PassMode::training;
      if (trains) {
        weights.begin_forward(step.slot, plan_.stages[static_cast<std::size_t>(step.pass.chunk)].end - 1);
      } else {
        links_.await_sends(step.slot);  // with the head it leaves nothing, and has other activations in that place
      }
      const Tensor input = llama.begin(step.slot, mode, step.pass.chunk);
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
