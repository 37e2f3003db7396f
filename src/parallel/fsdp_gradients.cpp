#include "src/parallel/fsdp_gradients.h"

#include <utility>

#include "src/base/error.h"
#include "src/profile/scopes.h"

namespace octet {
namespace {

/// Elements of a parameter's place among its unit's gradients: the pieces of all ranks, and the room up to the next
/// 256 bytes. A GEMM writes there, and cuBLASLt takes no fp8 product at an odd address (kernels/gemm.h).
std::int64_t place_of(std::int64_t piece, int shards) {
  constexpr std::int64_t alignment = 64;
  return (piece * shards + alignment - 1) / alignment * alignment;
}

std::vector<std::int64_t> unit_bytes(const ParameterList& list, int shards, const FsdpOptions& options) {
  std::vector<std::int64_t> bytes(list.units.size(), 0);
  if (!exchanges(shards, options)) return bytes;
  for (const ParameterSpec& p : list.parameters) {
    bytes[static_cast<std::size_t>(p.unit)] += place_of(Shard::of(p.shape, 0, shards).padded_elements(), shards) * 4;
  }
  return bytes;
}

}  // namespace

FsdpGradients::FsdpGradients(const ParameterList& list, ShardedBuffer& shards, Communicator& shard_group,
                             Communicator& replicate_group, Communicator& tp_group, Stream& stream,
                             const FsdpOptions& options)
    : list_(list),
      shards_(shards),
      group_(shard_group),
      replicas_(replicate_group),
      tp_(tp_group),
      stream_(stream),
      reduces_(shard_group.stream()),
      kernels_(kernels_of(stream)),
      zero_(options.zero),
      wire_(options.gradient_wire),
      whole_(options.whole_gradients),
      exchanges_(exchanges(shard_group.size(), options)),
      written_(stream.device().make_event()),
      unit_bytes_(unit_bytes(list, shard_group.size(), options)),
      pool_(shard_group.memory(), Purpose::gradients),
      units_(list.units.size()) {
  if (wire_ != DType::f32 && (wire_ != DType::bf16 || shard_group.size() == 1)) {
    throw internal_error("parallel", "gradients in {} between {} shard(s): expected f32, or bf16 between several",
                         name_of(wire_), shard_group.size());
  }
}

void FsdpGradients::begin_step(std::int64_t micro_batches) {
  micro_batches_ = micro_batches;
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
  const bool adds = unit.closed > 0 && (!exchanges_ || keeps_fp32());
  unit.targets.clear();
  if (exchanges_ && !keeps_fp32()) await_reductions(1);
  if (exchanges_ && unit.buffer.empty()) unit.buffer = pool_.acquire(unit_bytes_[static_cast<std::size_t>(index)]);
  auto* place = unit.buffer.as<float>();
  for (std::size_t i = first; i < last; ++i) {
    const Shape& shape = list_.parameters[i].shape;
    unit.targets.push_back({{exchanges_ ? place : shards_.data(i), DType::f32, shape, nullptr}, adds});
    if (!exchanges_) continue;
    if (!adds) stream_.device().zero(place + shape.elements(), (place_elements(i) - shape.elements()) * 4, stream_);
    place += place_elements(i);
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
  if (!exchanges_) return;
  if (keeps() && whole_ != DType::f32) add_up(index, unit, last);
  if (last || !keeps()) reduce_in_turn(index, unit, first || keeps());
}

/// To the sum of the micro-batches before, which is rounded, or with the last one goes into that one's gradients.
void FsdpGradients::add_up(int index, Unit& unit, bool last) {
  const std::int64_t n = unit_bytes_[static_cast<std::size_t>(index)] / 4;
  if (unit.closed > 1) {
    kernels_.sum_parts(
        stream_,
        {.parts = unit.sum.data(), .dtype = whole_, .count = 1, .n = n, .out = unit.buffer.data(), .accumulate = true});
  }
  if (last) return;
  if (unit.sum.empty()) unit.sum = Buffer(stream_.device(), n * size_of(whole_), Purpose::gradients);
  kernels_.convert(stream_, {.x = unit.buffer.data(), .y = unit.sum.data(), .to = whole_, .n = n});
  pool_.give_back(std::exchange(unit.buffer, {}));  // whoever writes there next comes later on the same stream
}

/// On the stream of reductions, when the unit's gradients are there.
void FsdpGradients::reduce_in_turn(int index, Unit& unit, bool first) {
  if (overlaps()) {
    stream_.record(*written_);
    reduces_.wait(*written_);
  }
  reduce(index, unit, first);
  reducing_.push_back({std::exchange(unit.buffer, {}), keeps_fp32() ? &unit : nullptr, stream_.device().make_event()});
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

void FsdpGradients::reduce(int index, Unit& unit, bool first) {
  const UnitScope scope(list_.units[static_cast<std::size_t>(index)]);  // for traces and the watchdog
  const auto [begin, end] = list_.range(index);
  if (wire_ == DType::bf16) {
    exchange_and_sum(begin, end, unit, first);
  } else {
    reduce_scatter(begin, end, unit, first);
  }
}

void FsdpGradients::reserve(std::int64_t bytes) {
  if (exchange_.bytes() >= bytes) return;
  exchange_ = Buffer();  // give back the old one first
  exchange_ = Buffer(group_.memory(), bytes, Purpose::gradients);
}

void FsdpGradients::reduce_scatter(std::size_t begin, std::size_t end, const Unit& unit, bool first) {
  if (!first) reserve(unit.buffer.bytes() / group_.size());
  group_.group_begin();
  auto* to = exchange_.as<float>();
  for (std::size_t i = begin; i < end; ++i) {
    group_.reduce_scatter(static_cast<float*>(unit.targets[i - begin].tensor.data), first ? shards_.data(i) : to,
                          piece(i));
    if (!first) to += piece(i);
  }
  group_.group_end();
  if (first) return;

  const auto* from = exchange_.as<float>();
  for (std::size_t i = begin; i < end; ++i) {
    kernels_.accumulate(reduces_, {.x = from, .y = shards_.data(i), .n = piece(i)});
    from += piece(i);
  }
}

/// Once rounded, the unit's fp32 gradients are not needed again: what the other ranks send lands on them.
void FsdpGradients::exchange_and_sum(std::size_t begin, std::size_t end, const Unit& unit, bool first) {
  const std::int64_t elements = unit.buffer.bytes() / 4;
  reserve(elements * 2);
  kernels_.convert(reduces_, {.x = unit.buffer.data(), .y = exchange_.data(), .n = elements});

  group_.group_begin();
  auto* rounded = exchange_.as<bf16>();
  auto* received = unit.buffer.as<bf16>();
  for (std::size_t i = begin; i < end; ++i) {
    group_.all_to_all(rounded, received, piece(i), DType::bf16);
    rounded += place_elements(i);
    received += place_elements(i);
  }
  group_.group_end();

  const auto* parts = unit.buffer.as<bf16>();
  for (std::size_t i = begin; i < end; ++i) {
    kernels_.sum_parts(reduces_, {.parts = parts,
                                  .dtype = DType::bf16,
                                  .count = group_.size(),
                                  .n = piece(i),
                                  .out = shards_.data(i),
                                  .accumulate = !first});
    parts += place_elements(i);
  }
}

std::int64_t FsdpGradients::place_elements(std::size_t parameter) const {
  return place_of(piece(parameter), group_.size());
}

void FsdpGradients::finish_step() {
  for (std::size_t u = 0; keeps() && u < units_.size(); ++u) {
    const auto [first, last] = list_.range(static_cast<int>(u));
    if (first == last || units_[u].closed == micro_batches_) continue;
    throw internal_error("parallel", "{} of {} micro-batches closed unit {}, which waits for the last",
                         units_[u].closed, micro_batches_, u);
  }
  await_reductions(0);
  if (tp_.size() > 1) {
    tp_.group_begin();
    for (std::size_t i = 0; i < list_.parameters.size(); ++i) {
      if (!list_.parameters[i].cut.replicated()) continue;
      tp_.all_reduce(shards_.data(i), shards_.layout().shard(i).padded_elements(), DType::f32, ReduceOp::sum);
    }
    tp_.group_end();
  }
  if (replicas_.size() > 1) {
    replicas_.all_reduce(shards_.all(), shards_.layout().elements(), DType::f32, ReduceOp::sum);
  }
}

}  // namespace octet
