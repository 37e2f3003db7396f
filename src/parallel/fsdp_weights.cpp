#include "src/parallel/fsdp_weights.h"

#include <algorithm>

#include "src/base/round_up.h"
#include "src/parallel/poison.h"
#include "src/profile/scopes.h"

namespace octet {
namespace {

constexpr std::int64_t alignment = 256;

std::int64_t aligned(std::int64_t bytes) {
  return round_up(bytes, alignment);
}

/// A whole fp32 weight of a group of one is the master itself.
bool is_master(const ParameterSpec& p, int shards, const FsdpOptions& options) {
  return !exchanges(shards, options) && p.gathered == DType::f32;
}

std::int64_t cast_after_bytes(const ParameterSpec& p, int shards) {
  return aligned(Shard::of(p.shape, 0, shards).padded_elements() * shards * size_of(DType::bf16));
}

std::int64_t gathered_bytes(const ParameterSpec& p, int shards, const FsdpOptions& options) {
  if (is_master(p, shards, options)) return 0;
  return aligned(Shard::of(p.shape, 0, shards).padded_elements() * shards * size_of(p.gathered));
}

std::vector<std::int64_t> unit_bytes(const ParameterList& list, int shards, const FsdpOptions& options) {
  std::vector<std::int64_t> bytes(list.units.size(), 0);
  for (const ParameterSpec& p : list.parameters) {
    bytes[static_cast<std::size_t>(p.unit)] += gathered_bytes(p, shards, options);
  }
  return bytes;
}

std::vector<std::int64_t> cast_after_bytes(const ParameterList& list, int shards, const FsdpOptions& options) {
  std::vector<std::int64_t> bytes(list.units.size(), 0);
  for (const ParameterSpec& p : list.parameters) {
    if (options.float8_all_gather || !is_float8(p.gathered)) continue;
    bytes[static_cast<std::size_t>(p.unit)] += cast_after_bytes(p, shards);
  }
  return bytes;
}

}  // namespace

FsdpWeights::FsdpWeights(const ParameterList& list, const ShardedBuffer& master, WeightScales& scales,
                         Communicator& shard_group, Communicator& tp_group, Stream& stream, FsdpOptions options,
                         UpdateEvents* updates)
    : list_(list),
      master_(master),
      scales_(scales),
      group_(shard_group),
      tp_(tp_group),
      stream_(stream),
      gathers_(shard_group.stream()),
      kernels_(kernels_of(stream)),
      options_(options),
      updates_(updates),
      passed_(stream.device().make_event()),
      unit_bytes_(unit_bytes(list, shard_group.size(), options)),
      cast_after_bytes_(cast_after_bytes(list, shard_group.size(), options)),
      schedule_(options.zero == Zero::three),
      pool_(shard_group.memory(), Purpose::gathered),
      units_(list.units.size()) {
  if (exchanges(shard_group.size(), options) && shard_group.size() == 1) {
    staging_ =
        Buffer(stream.device(), std::ranges::max(unit_bytes_) + std::ranges::max(cast_after_bytes_), Purpose::gathered);
  }
  for (Unit& unit : units_) unit.ready = stream.device().make_event();
}

std::span<const Tensor> FsdpWeights::gather(int unit) {
  schedule_.advance(unit);
  start_gather(unit);
  finish_gather(unit);
  if (prefetches(schedule_.next())) start_gather(schedule_.next());  // issued before the model computes with `unit`
  return units_[static_cast<std::size_t>(unit)].tensors;
}

/// On the model's own stream a unit that is still being updated would hold up the one before it.
bool FsdpWeights::prefetches(int unit) const {
  return unit >= 0 && (overlaps() || updates_ == nullptr || !updates_->pending(static_cast<std::size_t>(unit)));
}

bool FsdpWeights::casts_both_forms() const {
  return options_.keep_transposed && options_.float8_all_gather && !exchanges(group_.size(), options_);
}

std::span<const Tensor> FsdpWeights::transposed(int index) {
  Unit& unit = units_[static_cast<std::size_t>(index)];
  if (!options_.keep_transposed || !unit.transposed.empty()) return unit.transposed;
  place_transposed(unit);
  for (std::size_t i = 0; i < unit.tensors.size(); ++i) {
    const Tensor& w = unit.tensors[i];
    if (!is_float8(w.dtype)) continue;
    kernels_.transpose_float8(stream_,
                              {.x = w.data, .y = unit.transposed[i].data, .rows = w.shape[0], .columns = w.shape[1]});
  }
  return unit.transposed;
}

void FsdpWeights::place_transposed(Unit& unit) {
  std::int64_t bytes = 0;
  for (const Tensor& w : unit.tensors) bytes += is_float8(w.dtype) ? aligned(w.bytes()) : 0;
  if (unit.transposed_buffer.empty()) unit.transposed_buffer = Buffer(stream_.device(), bytes, Purpose::gathered);
  char* place = unit.transposed_buffer.as<char>();
  for (const Tensor& w : unit.tensors) {
    Tensor& copy = unit.transposed.emplace_back();
    if (!is_float8(w.dtype)) continue;
    copy = {place, w.dtype, {w.shape[1], w.shape[0]}, w.inverse_scale};
    place += aligned(w.bytes());
  }
}

void FsdpWeights::release(int unit) {
  if (!schedule_.keep(unit)) drop(units_[static_cast<std::size_t>(unit)]);
}

void FsdpWeights::invalidate() {
  for (Unit& unit : units_) {
    if (unit.gathered) drop(unit);
  }
}

std::vector<void*> FsdpWeights::places_of_update(int index) const {
  const Unit& unit = units_[static_cast<std::size_t>(index)];
  if (!unit.gathered || exchanges(group_.size(), options_) || overlaps() || options_.poison) return {};
  const std::size_t first = list_.range(index).first;
  std::vector<void*> places;
  for (std::size_t i = 0; i < unit.tensors.size(); ++i) {
    const bool master = is_master(list_.parameters[first + i], group_.size(), options_);
    if (!master && unit.tensors[i].dtype != DType::bf16) return {};
    places.push_back(master ? nullptr : unit.tensors[i].data);
  }
  return places;
}

void FsdpWeights::updated() {
  for (std::size_t i = 0; i < units_.size(); ++i) {
    if (units_[i].gathered && places_of_update(static_cast<int>(i)).empty()) drop(units_[i]);
  }
}

void FsdpWeights::drop(Unit& unit) {
  if (options_.poison) poison(stream_.device(), stream_, unit.buffer.data(), unit.buffer.bytes());
  pool_.give_back(std::move(unit.buffer));
  unit.buffer = {};
  unit.high = {};  // of a unit that was prefetched and not asked for
  unit.transposed.clear();
  unit.gathered = false;
}

void FsdpWeights::start_gather(int index) {
  Unit& unit = units_[static_cast<std::size_t>(index)];
  if (unit.gathered) {
    if (updates_ != nullptr) updates_->await(static_cast<std::size_t>(index), gathers_);  // it may have written there
    return;
  }
  unit.buffer = pool_.acquire(unit_bytes_[static_cast<std::size_t>(index)]);
  if (overlaps()) {
    stream_.record(*passed_);
    gathers_.wait(*passed_);
  }
  if (updates_ != nullptr) updates_->await(static_cast<std::size_t>(index), gathers_);
  if (options_.poison) poison(gathers_.device(), gathers_, unit.buffer.data(), unit.buffer.bytes());
  gather_parameters(index, unit);
  if (overlaps()) gathers_.record(*unit.ready);
  unit.gathered = true;
}

void FsdpWeights::finish_gather(int index) {
  Unit& unit = units_[static_cast<std::size_t>(index)];
  if (overlaps()) stream_.wait(*unit.ready);
  if (unit.needs_cast) cast_after_gather(index, unit);
}

/// On the model's stream: the scale needs the tensor-parallel group, whose calls belong to that stream.
void FsdpWeights::cast_after_gather(int index, Unit& unit) {
  const UnitScope scope(list_.units[static_cast<std::size_t>(index)]);  // for traces and the watchdog
  const auto [first, last] = list_.range(index);
  char* place = unit.high.as<char>();
  for (std::size_t i = first; i < last; ++i) {
    const ParameterSpec& p = list_.parameters[i];
    if (!is_float8(p.gathered)) continue;
    cast_gathered(i, {place, DType::bf16, p.shape, nullptr}, unit.tensors[i - first]);
    place += cast_after_bytes(p, group_.size());
  }
  unit.high = {};
  unit.needs_cast = false;
}

void FsdpWeights::gather_parameters(int index, Unit& unit) {
  const UnitScope scope(list_.units[static_cast<std::size_t>(index)]);  // for traces and the watchdog
  const auto [first, last] = list_.range(index);
  const int shards = group_.size();
  place_tensors(first, last, unit);
  if (casts_both_forms()) place_transposed(unit);
  unit.high = Buffer(stream_.device(), cast_after_bytes_[static_cast<std::size_t>(index)], Purpose::gathered);
  unit.needs_cast = !unit.high.empty();
  char* high_place = unit.high.as<char>();
  char* staged = staging_.as<char>();  // the stream is done with the last unit's when it comes to this one's

  group_.group_begin();
  for (std::size_t i = first; i < last; ++i) {
    const ParameterSpec& p = list_.parameters[i];
    if (is_master(p, shards, options_)) continue;
    const bool cast_after = is_float8(p.gathered) && !options_.float8_all_gather;
    const DType travels = cast_after ? DType::bf16 : p.gathered;
    const std::int64_t piece = master_.layout().shard(i).padded_elements();
    void* whole = unit.tensors[i - first].data;
    if (cast_after) {
      whole = high_place;
      high_place += cast_after_bytes(p, shards);
    }
    void* mine = static_cast<char*>(whole) + group_.rank() * piece * size_of(travels);
    if (!staging_.empty()) {
      mine = staged;
      staged += aligned(piece * size_of(travels));
    }
    cast_piece(i, travels, mine, unit.transposed.empty() ? nullptr : unit.transposed[i - first].data);
    if (exchanges(shards, options_)) group_.all_gather(mine, whole, piece, travels);
  }
  group_.group_end();
}

void FsdpWeights::place_tensors(std::size_t first, std::size_t last, Unit& unit) {
  unit.tensors.clear();
  char* place = unit.buffer.as<char>();
  for (std::size_t i = first; i < last; ++i) {
    const ParameterSpec& p = list_.parameters[i];
    void* const data = is_master(p, group_.size(), options_) ? static_cast<void*>(master_.data(i)) : place;
    unit.tensors.push_back({data, p.gathered, p.shape, scales_.inverse(i)});
    place += gathered_bytes(p, group_.size(), options_);
  }
}

void FsdpWeights::cast_piece(std::size_t parameter, DType to, void* piece, void* transposed) {
  const Shape& whole = list_.parameters[parameter].shape;
  const std::int64_t n = master_.layout().shard(parameter).padded_elements();
  if (is_float8(to)) {
    kernels_.cast_to_float8(gathers_, {.x = master_.data(parameter),
                                       .from = DType::f32,
                                       .y = piece,
                                       .to = to,
                                       .n = transposed != nullptr ? whole.elements() : n,
                                       .scale = scales_.scale(parameter),
                                       .y_transposed = transposed,
                                       .columns = transposed != nullptr ? whole[1] : 0});
  } else {
    kernels_.convert(gathers_, {.x = master_.data(parameter), .from = DType::f32, .y = piece, .to = to, .n = n});
  }
}

void FsdpWeights::cast_gathered(std::size_t parameter, const Tensor& high, Tensor& out) {
  scales_.measure_gathered(parameter, high, tp_, kernels_);
  kernels_.cast_to_float8(stream_, {.x = high.data,
                                    .from = high.dtype,
                                    .y = out.data,
                                    .to = out.dtype,
                                    .n = high.elements(),
                                    .scale = scales_.scale(parameter)});
}

}  // namespace octet
