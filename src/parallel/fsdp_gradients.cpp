#include "src/parallel/fsdp_gradients.h"

#include <utility>

#include "src/base/error.h"
#include "src/profile/scopes.h"

namespace octet {
namespace {

void check_wire(const ShardedBuffer& shards, const GradientLayout& layout, int ranks, int replicas,
                const FsdpOptions& options) {
  const bool narrow = options.gemm_gradient_dtype != DType::f32, alone = !exchanges(ranks, options);
  const bool known = options.gradient_wire == DType::f32 || options.gradient_wire == DType::bf16;
  if (!known || (narrow && options.gemm_gradient_dtype != options.gradient_wire) ||
      (alone && options.gradient_wire != options.gemm_gradient_dtype) || (alone && narrow && replicas > 1)) {
    throw internal_error("parallel",
                         "gradients that GEMMs leave in {} and that travel in {}, between {} shard(s) and {} "
                         "replica(s): expected f32, or a wire of bf16 between several shards, or both bf16",
                         name_of(options.gemm_gradient_dtype), name_of(options.gradient_wire), ranks, replicas);
  }
  for (std::size_t i = 0; i < shards.layout().size(); ++i) {
    if (shards.dtype(i) == (alone ? layout.dtype(i) : DType::f32)) continue;
    throw internal_error("parallel", "piece {} of the gradients is {}", i, name_of(shards.dtype(i)));
  }
}

}  // namespace

FsdpGradients::FsdpGradients(const ParameterList& list, ShardedBuffer& shards, Communicator& shard_group,
                             Communicator& replicate_group, Communicator& tp_group, Stream& stream,
                             const FsdpOptions& options)
    : list_(list),
      gradient_shards_(shards),
      group_(shard_group),
      replicas_(replicate_group),
      tp_(tp_group),
      stream_(stream),
      reduces_(shard_group.stream()),
      kernels_(kernels_of(stream)),
      zero_(options.zero),
      wire_dtype_(options.gradient_wire),
      whole_dtype_(options.whole_gradients),
      gemm_dtype_(options.gemm_gradient_dtype),
      sharded_(exchanges(shard_group.size(), options)),
      written_(stream.device().make_event()),
      layout_(list, shard_group.size(), options),
      pool_(shard_group.memory(), Purpose::gradients),
      units_(list.units.size()) {
  check_wire(shards, layout_, shard_group.size(), replicate_group.size(), options);
}

void FsdpGradients::begin_step(std::int64_t micro_batches) {
  micro_batches_ = micro_batches;
  if (gemm_dtype_ != DType::f32 && micro_batches > 1 && (defers_reduction() || !sharded_)) {
    throw internal_error("parallel", "gradients that GEMMs leave in {} are not for sums of {} micro-batches",
                         name_of(gemm_dtype_), micro_batches);
  }
  for (Unit& unit : units_) unit.closed = 0;
}

std::span<const GradientTarget> FsdpGradients::open(int index) {
  Unit& unit = units_[static_cast<std::size_t>(index)];
  if (unit.open) {
    for (GradientTarget& t : unit.targets) t.accumulate = true;
  } else {
    place_targets(index, unit);
    unit.open = true;
  }
  return unit.targets;
}

void FsdpGradients::place_targets(int index, Unit& unit) {
  const auto [first, last] = list_.range(index);
  const bool adds = unit.closed > 0 && (!sharded_ || defers_in_fp32());
  unit.targets.clear();
  if (sharded_ && !defers_in_fp32()) await_reductions(1);
  if (sharded_ && unit.buffer.empty()) unit.buffer = pool_.acquire(layout_.unit_bytes(index));
  for (std::size_t i = first; i < last; ++i) {
    const Shape& shape = list_.parameters[i].shape;
    std::byte* place = unit.buffer.as<std::byte>() + layout_.offset(i);
    unit.targets.push_back({{sharded_ ? place : gradient_shards_.piece(i), layout_.dtype(i), shape, nullptr}, adds});
    const std::int64_t written = shape.elements() * size_of(layout_.dtype(i));
    if (sharded_ && !adds) stream_.device().zero(place + written, layout_.bytes(i) - written, stream_);
  }
}

void FsdpGradients::close(int index) {
  Unit& unit = units_[static_cast<std::size_t>(index)];
  if (!unit.open) throw internal_error("parallel", "gradients of unit {} closed, but not open", index);
  if (unit.closed == micro_batches_) {
    throw internal_error("parallel", "gradients of unit {} closed more than {} time(s) in a step", index,
                         micro_batches_);
  }
  unit.open = false;
  const bool first = ++unit.closed == 1, last = unit.closed == micro_batches_;
  if (!sharded_) return;
  if (defers_reduction() && whole_dtype_ != DType::f32) add_to_bf16_sum(index, unit, last);
  if (last || !defers_reduction()) start_reduction(index, unit, first || defers_reduction());
}

/// Adds the unit's gradients to the sum of the micro-batches before, which is rounded; the last micro-batch's become
/// the whole sum in fp32.
void FsdpGradients::add_to_bf16_sum(int index, Unit& unit, bool last) {
  const std::int64_t n = layout_.unit_bytes(index) / 4;
  if (unit.closed > 1) {
    kernels_.sum_parts(stream_, {.parts = unit.sum.data(),
                                 .dtype = whole_dtype_,
                                 .count = 1,
                                 .n = n,
                                 .out = unit.buffer.data(),
                                 .accumulate = true});
  }
  if (last) return;
  if (unit.sum.empty()) unit.sum = Buffer(stream_.device(), n * size_of(whole_dtype_), Purpose::gradients);
  kernels_.convert(stream_, {.x = unit.buffer.data(), .y = unit.sum.data(), .to = whole_dtype_, .n = n});
  pool_.give_back(std::exchange(unit.buffer, {}));  // whoever writes there next comes later on the same stream
}

void FsdpGradients::start_reduction(int index, Unit& unit, bool overwrite) {
  if (overlaps()) {
    stream_.record(*written_);
    reduces_.wait(*written_);
  }
  reduce(index, unit, overwrite);
  reducing_.push_back(
      {std::exchange(unit.buffer, {}), defers_in_fp32() ? &unit : nullptr, stream_.device().make_event()});
  reduces_.record(*reducing_.back().done);
  if (!overlaps()) await_reductions(0);
}

void FsdpGradients::await_reductions(std::size_t left) {
  while (reducing_.size() > left) {
    Reducing& oldest = reducing_.front();
    if (overlaps()) stream_.wait(*oldest.done);
    if (oldest.owner == nullptr) {
      pool_.give_back(std::move(oldest.buffer));
    } else {
      oldest.owner->buffer = std::move(oldest.buffer);
    }
    reducing_.pop_front();
  }
}

void FsdpGradients::reduce(int index, Unit& unit, bool overwrite) {
  const UnitScope scope(list_.units[static_cast<std::size_t>(index)]);  // for traces and the watchdog
  const auto [begin, end] = list_.range(index);
  if (wire_dtype_ == DType::bf16) {
    exchange_and_sum(index, unit, overwrite);
  } else {
    reduce_scatter(begin, end, unit, overwrite);
  }
}

void FsdpGradients::reserve(std::int64_t bytes) {
  if (scratch_.bytes() >= bytes) return;
  scratch_ = Buffer();  // give back the old one first
  scratch_ = Buffer(group_.memory(), bytes, Purpose::gradients);
}

void FsdpGradients::reduce_scatter(std::size_t begin, std::size_t end, const Unit& unit, bool overwrite) {
  if (!overwrite) reserve(unit.buffer.bytes() / group_.size());
  group_.group_begin();
  auto* to = scratch_.as<float>();
  for (std::size_t i = begin; i < end; ++i) {
    group_.reduce_scatter(static_cast<float*>(unit.targets[i - begin].tensor.data),
                          overwrite ? gradient_shards_.data(i) : to, piece(i));
    if (!overwrite) to += piece(i);
  }
  group_.group_end();
  if (overwrite) return;

  const auto* from = scratch_.as<float>();
  for (std::size_t i = begin; i < end; ++i) {
    kernels_.accumulate(reduces_, {.x = from, .y = gradient_shards_.data(i), .n = piece(i)});
    from += piece(i);
  }
}

/// The unit's fp32 gradients are rounded into scratch and sent from there; what the other ranks send overwrites them,
/// as they are not needed again. Gradients in bf16 are sent from where they are, and what comes in goes to scratch.
void FsdpGradients::exchange_and_sum(int index, const Unit& unit, bool overwrite) {
  const auto [begin, end] = list_.range(index);
  reserve(layout_.bytes_in_bf16(index));
  if (const std::int64_t n = layout_.fp32_bytes(index) / 4; n > 0) {
    kernels_.convert(reduces_, {.x = unit.buffer.data(), .y = scratch_.data(), .n = n});
  }
  struct Ends {
    std::byte *sent, *received;
  };
  const auto ends_of = [&](std::size_t i) -> Ends {
    std::byte* beside = scratch_.as<std::byte>() + layout_.offset_in_bf16(index, i);
    auto* in_unit = unit.buffer.as<std::byte>();
    if (layout_.dtype(i) == DType::f32) return {beside, in_unit + layout_.offset_in_bf16(index, i)};
    return {in_unit + layout_.offset(i), beside};
  };

  group_.group_begin();
  for (std::size_t i = begin; i < end; ++i) {
    const auto [sent, received] = ends_of(i);
    group_.all_to_all(sent, received, piece(i), DType::bf16);
  }
  group_.group_end();

  for (std::size_t i = begin; i < end; ++i) {
    kernels_.sum_parts(reduces_, {.parts = ends_of(i).received,
                                  .dtype = DType::bf16,
                                  .count = group_.size(),
                                  .n = piece(i),
                                  .out = gradient_shards_.data(i),
                                  .accumulate = !overwrite});
  }
}

void FsdpGradients::finish_step() {
  for (std::size_t u = 0; defers_reduction() && u < units_.size(); ++u) {
    const auto [first, last] = list_.range(static_cast<int>(u));
    if (first == last || units_[u].closed == micro_batches_) continue;
    throw internal_error("parallel", "{} of {} micro-batches closed unit {}, which waits for the last",
                         units_[u].closed, micro_batches_, u);
  }
  await_reductions(0);
  for_each_not_cut([&](float* piece, std::int64_t n) { tp_.all_reduce(piece, n, DType::f32, ReduceOp::sum); });
  if (replicas_.size() == 1) return;
  replicas_.all_reduce(gradient_shards_.all(), gradient_shards_.layout().elements(), DType::f32, ReduceOp::sum);
  // Each rank of the tp group has summed over replicas in a group of its own, whose order may be another.
  for_each_not_cut([&](float* piece, std::int64_t n) { tp_.broadcast(piece, n, DType::f32, 0); });
}

void FsdpGradients::for_each_not_cut(const std::function<void(float* piece, std::int64_t n)>& exchange) {
  if (tp_.size() == 1) return;
  tp_.group_begin();
  for (std::size_t i = 0; i < list_.parameters.size(); ++i) {
    if (!list_.parameters[i].cut.replicated()) continue;
    exchange(gradient_shards_.data(i), gradient_shards_.layout().shard(i).padded_elements());
  }
  tp_.group_end();
}

}  // namespace octet
