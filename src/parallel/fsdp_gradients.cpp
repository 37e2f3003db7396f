#include "src/parallel/fsdp_gradients.h"

#include "src/comm/watchdog.h"

namespace octet {

FsdpGradients::FsdpGradients(const ParameterList& list, ShardedBuffer& shards, Communicator& shard_group,
                             Communicator& replicate_group, Communicator& tp_group, Stream& stream)
    : list_(list),
      shards_(shards),
      group_(shard_group),
      replicas_(replicate_group),
      tp_(tp_group),
      stream_(stream),
      kernels_(kernels_of(stream)),
      unit_bytes_(unit_bytes(list, shard_group.size())),
      pool_(stream.device(), Purpose::gradients),
      units_(list.units.size()),
      first_micro_batch_(list.units.size(), true) {}

std::vector<std::int64_t> FsdpGradients::unit_bytes(const ParameterList& list, int shards) {
  std::vector<std::int64_t> bytes(list.units.size(), 0);
  if (shards == 1) return bytes;
  for (const ParameterSpec& p : list.parameters) {
    bytes[static_cast<std::size_t>(p.unit)] += Shard::of(p.shape, 0, shards).padded_elements() * shards * 4;
  }
  return bytes;
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
  const bool sharded = group_.size() > 1;
  unit.targets.clear();
  if (sharded) unit.buffer = pool_.acquire(unit_bytes_[static_cast<std::size_t>(index)]);
  auto* place = unit.buffer.as<float>();
  for (std::size_t i = first; i < last; ++i) {
    const Shape& shape = list_.parameters[i].shape;
    if (!sharded) {
      unit.targets.push_back(
          {{shards_.data(i), DType::f32, shape, nullptr}, !first_micro_batch_[static_cast<std::size_t>(index)]});
      continue;
    }
    unit.targets.push_back({{place, DType::f32, shape, nullptr}, false});
    const std::int64_t padded = shards_.layout().shard(i).padded_elements() * group_.size();
    stream_.device().zero(place + shape.elements(), (padded - shape.elements()) * 4, stream_);
    place += padded;
  }
}

void FsdpGradients::close(int index) {
  Unit& unit = units_[static_cast<std::size_t>(index)];
  if (!unit.open) throw internal_error("parallel", "gradients of unit {} closed, but not open", index);
  const bool first = first_micro_batch_[static_cast<std::size_t>(index)];
  if (group_.size() > 1) {
    reduce(index, unit, first);
    pool_.give_back(std::move(unit.buffer));
    unit.buffer = {};
  }
  unit.open = false;
  first_micro_batch_[static_cast<std::size_t>(index)] = false;
}

void FsdpGradients::reduce(int index, Unit& unit, bool first) {
  const UnitScope scope(list_.units[static_cast<std::size_t>(index)]);  // for traces and the watchdog
  const auto [begin, end] = list_.range(index);
  std::int64_t pieces = 0;
  for (std::size_t i = begin; i < end; ++i) pieces += shards_.layout().shard(i).padded_elements();
  if (!first && sum_.bytes() < pieces * 4) {
    sum_ = Buffer();  // give back the old one first
    sum_ = Buffer(stream_.device(), pieces * 4, Purpose::gradients);
  }

  group_.group_begin();
  auto* to = sum_.as<float>();
  for (std::size_t i = begin; i < end; ++i) {
    const std::int64_t piece = shards_.layout().shard(i).padded_elements();
    group_.reduce_scatter(static_cast<float*>(unit.targets[i - begin].tensor.data), first ? shards_.data(i) : to,
                          piece);
    if (!first) to += piece;
  }
  group_.group_end();
  if (first) return;

  const auto* from = sum_.as<float>();
  for (std::size_t i = begin; i < end; ++i) {
    const std::int64_t piece = shards_.layout().shard(i).padded_elements();
    kernels_.accumulate(stream_, {.x = from, .y = shards_.data(i), .n = piece});
    from += piece;
  }
}

void FsdpGradients::finish_step() {
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
