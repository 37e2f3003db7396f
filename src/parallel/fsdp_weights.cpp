#include "src/parallel/fsdp_weights.h"

#include "src/base/round_up.h"
#include "src/parallel/poison.h"
#include "src/profile/scopes.h"

namespace octet {

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
      layout_(list, shard_group.size(), options),
      schedule_(options.zero == Zero::three),
      pool_(shard_group.memory(), Purpose::gathered),
      units_(list.units.size()) {
  if (exchanges(shard_group.size(), options) && shard_group.size() == 1) {
    staging_ = Buffer(stream.device(), layout_.largest_unit(), Purpose::gathered);
  }
  for (Unit& unit : units_) {
    if (overlaps()) unit.ready = stream.device().make_event();
  }
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
  for (const Tensor& w : unit.tensors) bytes += is_float8(w.dtype) ? round_up(w.bytes(), place_alignment) : 0;
  if (unit.transposed_buffer.empty()) unit.transposed_buffer = Buffer(stream_.device(), bytes, Purpose::gathered);
  char* place = unit.transposed_buffer.as<char>();
  for (const Tensor& w : unit.tensors) {
    Tensor& copy = unit.transposed.emplace_back();
    if (!is_float8(w.dtype)) continue;
    copy = {place, w.dtype, {w.shape[1], w.shape[0]}, w.inverse_scale};
    place += round_up(w.bytes(), place_alignment);
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
    if (!can_be_left(first + i, unit.tensors[i])) return {};
    places.push_back(layout_.is_master(first + i) ? nullptr : unit.tensors[i].data);
  }
  return places;
}

bool FsdpWeights::can_be_left(std::size_t parameter, const Tensor& w) const {
  if (is_float8(w.dtype)) return !layout_.cast_after(parameter) && scales_.known_to_update(tp_);
  return layout_.is_master(parameter) || w.dtype == DType::bf16;
}

void FsdpWeights::updated() {
  for (std::size_t i = 0; i < units_.size(); ++i) {
    Unit& unit = units_[i];
    if (!unit.gathered) continue;
    if (places_of_update(static_cast<int>(i)).empty()) {
      drop(unit);
    } else {
      unit.transposed.clear();
      unit.predicted = scales_.predicts();
    }
  }
}

void FsdpWeights::recast(int index, Unit& unit) {
  const UnitScope scope(list_.units[static_cast<std::size_t>(index)]);  // for traces and the watchdog
  const std::size_t first = list_.range(index).first;
  for (std::size_t i = 0; i < unit.tensors.size(); ++i) {
    const Tensor& w = unit.tensors[i];
    if (is_float8(w.dtype))
      scales_.recast(first + i, master_.data(first + i), w.elements(), w.data, gathers_, kernels_);
  }
  unit.predicted = false;
}

void FsdpWeights::drop(Unit& unit) {
  if (options_.poison) poison(stream_.device(), stream_, unit.buffer.data(), unit.buffer.bytes());
  pool_.give_back(std::move(unit.buffer));
  unit.buffer = {};
  unit.high = {};  // of a unit that was prefetched and not asked for
  unit.transposed.clear();
  unit.gathered = unit.predicted = false;
}

void FsdpWeights::start_gather(int index) {
  Unit& unit = units_[static_cast<std::size_t>(index)];
  if (unit.gathered) {
    if (updates_ != nullptr) updates_->await(static_cast<std::size_t>(index), gathers_);  // it may have written there
    if (unit.predicted) recast(index, unit);
    return;
  }
  unit.buffer = pool_.acquire(layout_.bytes(index));
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
  for (std::size_t i = first; i < last; ++i) {
    if (!layout_.cast_after(i)) continue;
    const Tensor high{unit.high.as<char>() + layout_.bf16_offset(i), DType::bf16, list_.parameters[i].shape, nullptr};
    cast_gathered(i, high, unit.tensors[i - first]);
  }
  unit.high = {};
  unit.needs_cast = false;
}

void FsdpWeights::gather_parameters(int index, Unit& unit) {
  const UnitScope scope(list_.units[static_cast<std::size_t>(index)]);  // for traces and the watchdog
  const auto [first, last] = list_.range(index);
  place_tensors(first, last, unit);
  if (casts_both_forms()) place_transposed(unit);
  unit.high = Buffer(stream_.device(), layout_.bf16_bytes(index), Purpose::gathered);
  unit.needs_cast = !unit.high.empty();

  group_.group_begin();
  for (std::size_t i = first; i < last; ++i) {
    if (layout_.is_master(i)) continue;
    const DType travels = layout_.travels(i);
    const std::int64_t piece = master_.layout().shard(i).padded_elements();
    char* const whole = layout_.cast_after(i) ? unit.high.as<char>() + layout_.bf16_offset(i)
                                              : unit.buffer.as<char>() + layout_.offset(i);
    char* mine = whole + group_.rank() * piece * size_of(travels);
    // The stream is done with the last unit's staged pieces when it comes to this one's.
    if (!staging_.empty()) mine = staging_.as<char>() + layout_.staging_offset(i);
    cast_piece(i, travels, mine, unit.transposed.empty() ? nullptr : unit.transposed[i - first].data);
    if (exchanges(group_.size(), options_)) group_.all_gather(mine, whole, piece, travels);
  }
  group_.group_end();
}

void FsdpWeights::place_tensors(std::size_t first, std::size_t last, Unit& unit) {
  unit.tensors.clear();
  for (std::size_t i = first; i < last; ++i) {
    const ParameterSpec& p = list_.parameters[i];
    void* const data = layout_.is_master(i) ? master_.piece(i) : unit.buffer.as<std::byte>() + layout_.offset(i);
    unit.tensors.push_back({data, p.gathered, p.shape, scales_.inverse(i)});
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
