#include "src/train/step/sharded_model.h"

#include <algorithm>

#include "src/base/error.h"
#include "src/comm/reductions.h"
#include "src/profile/timeline.h"

namespace octet {

ShardedModel::ShardedModel(const LlamaSettings& settings, const OptimizerConfig& optimizer, const FsdpOptions& fsdp,
                           Mesh& mesh, Stream& stream, GemmTrace* gemms)
    : mesh_(mesh),
      stream_(stream),
      device_(stream.device()),
      kernels_(kernels_of(stream)),
      optimizer_(optimizer),
      gather_stream_(fsdp.overlap ? device_.make_stream(StreamPriority::high) : nullptr),
      reduce_stream_(fsdp.overlap ? device_.make_stream(StreamPriority::high) : nullptr),
      gather_group_(fsdp.overlap ? mesh.fsdp().on_stream(*gather_stream_, mesh.fsdp().name()) : nullptr),
      reduce_group_(fsdp.overlap ? mesh.fsdp().on_stream(*reduce_stream_, mesh.fsdp().name()) : nullptr),
      tp_stream_(settings.async_tp ? device_.make_stream(StreamPriority::high) : nullptr),
      tp_beside_(settings.async_tp ? mesh.tp().on_stream(*tp_stream_, "tp") : nullptr),
      exchange_(mesh.tp(), tp_beside_.get(), fsdp.poison),
      model_(settings, stream, exchange_, gemms),
      all_parameters_(llama_parameters(settings.model, settings.precision, settings.float8, settings.tp)),
      layout_(model_.parameters(), mesh.fsdp().rank(), mesh.fsdp().size()),
      master_(layout_, device_, stream, Purpose::parameters),
      gradients_(layout_, reduce_group().memory(), stream, Purpose::gradients,
                 gradient_piece_dtypes(model_.parameters(), mesh.fsdp().size(), fsdp)),
      first_moment_(layout_, device_, stream, Purpose::optimizer),
      second_moment_(layout_, device_, stream, Purpose::optimizer),
      weight_scales_(model_.parameters(), layout_, device_, stream, model_.scaling(), model_.recipe().power_of_two()),
      updates_(model_.parameters().units.size(), stream),
      weights_(model_.parameters(), master_, weight_scales_, gather_group(), reductions::gathered_weight_amax(mesh),
               stream, fsdp, &updates_),
      sink_(model_.parameters(), gradients_, reduce_group(), reductions::gradients_of_replicas(mesh),
            reductions::gradients_not_cut(mesh), stream, fsdp),
      tied_(model_.parameters(), settings.model.tied_embedding, gradients_, mesh.pp(), stream),
      norm_(model_.parameters(), tied_.counts(), device_, stream) {
  if (&mesh.fsdp().stream() != &stream) {  // it would be taken for one of its own, and its memory for two units'
    throw internal_error("train", "the groups of the mesh work on another stream than the model");
  }
  if (Timeline* timeline = Timeline::current(); timeline != nullptr) {
    if (gather_stream_) timeline->name_stream(*gather_stream_, "gathers");
    if (reduce_stream_) timeline->name_stream(*reduce_stream_, "reductions");
    if (tp_stream_) timeline->name_stream(*tp_stream_, "tp parts");
  }
  for (std::size_t i = 0; i < layout_.size(); ++i) {
    slices_.push_back({.parameter = master_.data(i),
                       .gradient = gradients_.piece(i),
                       .gradient_dtype = gradients_.dtype(i),
                       .first_moment = first_moment_.data(i),
                       .second_moment = second_moment_.data(i),
                       .n = layout_.shard(i).elements(),
                       .decay = decays(optimizer, parameters().parameters[i].name),
                       .amax = weight_scales_.amax(i)});
  }
}

void ShardedModel::initialize(std::uint64_t seed) {
  octet::initialize(parameters(), master(), seed, device_, stream_);
  model_.scaling().reset(stream_);
  weights_changed();
}

void ShardedModel::weights_changed() {
  join_update();
  weight_scales_.measure(master_, kernels_);
  weight_scales_.update(reductions::weight_amax(mesh_), kernels_);
  weights_.invalidate();
}

void ShardedModel::begin_step(std::int64_t micro_batches, std::int64_t gemm_multiprocessors) {
  sink_.begin_step(micro_batches);
  model_.leave_room(gemm_multiprocessors);
}

void ShardedModel::forward_backward(const MicroBatch& batch) {
  model_.forward_backward(batch, weights_, sink_);
}

void ShardedModel::finish_step(std::int64_t step, double lr, const std::optional<GpuSplit>& beside) {
  const StepPartScope part(StepPart::optimizer);
  join_update();
  sink_.finish_step();
  tied_.sum();
  norm_.compute(gradients_, reductions::gradient_norm(mesh_), reductions::one_gradient_norm(mesh_),
                static_cast<float>(optimizer_.clip_norm));
  update_delayed_scales();
  weight_scales_.clear();
  update(step, lr, beside);
  weights_.updated();
}

/// Unit by unit, in the order in which the next forward pass asks for them.
void ShardedModel::update(std::int64_t step, double lr, const std::optional<GpuSplit>& beside) {
  if (beside && weight_scales_.exchanges(reductions::weight_amax(mesh_))) {
    throw internal_error("train", "an update beside the model's stream, after which ranks exchange abs-maxes");
  }
  Stream& stream = updates_.begin(beside.has_value());
  const std::int64_t few = beside ? beside->update : 0;
  bool model_waits = true;  // it has nothing to do before the embedding and the first block are updated
  const std::span<OptimizerSlice> slices = slices_;
  for (std::size_t unit = 0; unit < parameters().units.size(); ++unit) {
    const auto [begin, end] = parameters().range(static_cast<int>(unit));
    if (begin == end) continue;  // another stage's
    const UnitScope scope(parameters().units[unit]);
    const std::vector<void*> places = weights_.places_of_update(static_cast<int>(unit));
    for (std::size_t i = begin; i < end; ++i) leave_weight(i, places.empty() ? nullptr : places[i - begin]);
    adamw_step(stream, kernels_, optimizer_, lr, step, slices.subspan(begin, end - begin), norm_.factor(), norm_.skip(),
               model_waits ? 0 : few);
    model_waits = model_waits && static_cast<int>(unit) == embedding_unit;
    if (beside) weight_scales_.update_whole(begin, end, stream, kernels_);
    updates_.end_unit(unit);
  }
  if (!beside) weight_scales_.update(reductions::weight_amax(mesh_), kernels_);
}

void ShardedModel::leave_weight(std::size_t parameter, void* place) {
  OptimizerSlice& slice = slices_[parameter];
  const bool float8 = place != nullptr && is_float8(parameters().parameters[parameter].gathered);
  slice.rounded = float8 ? nullptr : place;
  slice.float8 = float8 ? weight_scales_.float8_of_update(parameter, place) : Float8Out{};
  slice.prediction = float8 ? weight_scales_.prediction(parameter) : ScalePrediction{};
}

void ShardedModel::update_delayed_scales() {
  Float8Scaling& scaling = model_.scaling();
  const std::span<float> recorded = scaling.recorded();
  if (recorded.empty()) return;
  reductions::cast_amax(mesh_).all_reduce(recorded.data(), static_cast<std::int64_t>(recorded.size()), DType::f32,
                                          ReduceOp::max);
  scaling.finish_step(stream_, kernels_);
}

void ShardedModel::evaluate(const MicroBatch& batch) {
  model_.evaluate(batch, weights_);
}

void ShardedModel::copy_and_reset_counters(std::uint32_t* host) {
  TensorChecks& checks = model_.checks();
  device_.copy_to_host(host, checks.all(), checks.size() * 4, stream_);
  device_.copy_to_host(host + checks.size(), norm_.non_finite(), static_cast<std::int64_t>(all_parameters_.ids) * 4,
                       stream_);
  checks.reset(stream_);
  norm_.reset_counters();
}

void ShardedModel::zero_duplicate_counts(std::vector<std::uint32_t>& counts) const {
  if (!reductions::counts_gradients(mesh_)) std::fill(counts.begin() + model_.checks().size(), counts.end(), 0);
}

std::vector<TensorChecks::Finding> ShardedModel::findings(const std::vector<std::int64_t>& counts) const {
  std::vector<TensorChecks::Finding> found = model_.checks().findings(counts.data());
  for (const ParameterSpec& p : all_parameters_.parameters) {
    const std::int64_t count = counts[static_cast<std::size_t>(model_.checks().size()) + p.id];
    if (count != 0)
      found.push_back({all_parameters_.units[static_cast<std::size_t>(p.unit)], "gradient of " + p.name, count});
  }
  return found;
}

}  // namespace octet
