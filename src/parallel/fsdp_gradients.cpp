#include "src/parallel/fsdp_gradients.h"

#include <algorithm>

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
      wire_(options.gradient_wire),
      exchanges_(exchanges(shard_group.size(), options)),
      written_(stream.device().make_event()),
      unit_bytes_(unit_bytes(list, shard_group.size(), options)),
      pool_(shard_group.memory(), Purpose::gradients),
      units_(list.units.size()),
      first_micro_batch_(list.units.size(), true) {
  if (wire_ != DType::f32 && (wire_ != DType::bf16 || shard_group.size() == 1)) {
    throw internal_error("parallel", "gradients in {} between {} shard(s): expected f32, or bf16 between several",
                         name_of(wire_), shard_group.size());
  }
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
  unit.targets.clear();
  if (exchanges_) {
    await_reductions(1);
    unit.buffer = pool_.acquire(unit_bytes_[static_cast<std::size_t>(index)]);
  }
  auto* place = unit.buffer.as<float>();
  for (std::size_t i = first; i < last; ++i) {
    const Shape& shape = list_.parameters[i].shape;
    if (!exchanges_) {
      unit.targets.push_back(
          {{shards_.data(i), DType::f32, shape, nullptr}, !first_micro_batch_[static_cast<std::size_t>(index)]});
      continue;
    }
    unit.targets.push_back({{place, DType::f32, shape, nullptr}, false});
    stream_.device().zero(place + shape.elements(), (place_elements(i) - shape.elements()) * 4, stream_);
    place += place_elements(i);
  }
}

void FsdpGradients::close(int index) {
  Unit& unit = units_[static_cast<std::size_t>(index)];
  if (!unit.open) throw internal_error("parallel", "gradients of unit {} closed, but not open", index);
  const bool first = first_micro_batch_[static_cast<std::size_t>(index)];
  if (exchanges_) {
    if (overlaps()) {
      stream_.record(*written_);
      reduces_.wait(*written_);
    }
    reduce(index, unit, first);
    reducing_.push_back({std::move(unit.buffer), stream_.device().make_event()});
    reduces_.record(*reducing_.back().done);
    unit.buffer = {};
    if (!overlaps()) await_reductions(0);
  }
  unit.open = false;
  first_micro_batch_[static_cast<std::size_t>(index)] = false;
}

void FsdpGradients::await_reductions(std::size_t left) {
  while (reducing_.size() > left) {
    if (overlaps()) stream_.wait(*reducing_.front().done);
    pool_.give_back(std::move(reducing_.front().buffer));
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
