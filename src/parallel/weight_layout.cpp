#include "src/parallel/weight_layout.h"

#include <algorithm>

#include "src/base/round_up.h"
#include "src/tensor/shard.h"

namespace octet {

WeightLayout::WeightLayout(const ParameterList& list, int shards, const FsdpOptions& options)
    : units_(list.units.size()) {
  for (const ParameterSpec& p : list.parameters) {
    Unit& unit = units_[static_cast<std::size_t>(p.unit)];
    Place& place = places_.emplace_back();
    place.is_master = !exchanges(shards, options) && p.gathered == DType::f32;
    place.cast_after = is_float8(p.gathered) && !options.float8_all_gather;
    place.travels = place.cast_after ? DType::bf16 : p.gathered;
    place.offset = unit.bytes;
    place.bf16_offset = unit.bf16_bytes;
    place.staging_offset = unit.bytes + unit.bf16_bytes;
    const std::int64_t elements = Shard::of(p.shape, 0, shards).padded_elements() * shards;
    if (!place.is_master) unit.bytes += round_up(elements * size_of(p.gathered), place_alignment);
    if (place.cast_after) unit.bf16_bytes += round_up(elements * size_of(DType::bf16), place_alignment);
  }
}

std::int64_t WeightLayout::largest_unit() const {
  std::int64_t largest = 0;
  for (const Unit& unit : units_) largest = std::max(largest, unit.bytes + unit.bf16_bytes);
  return largest;
}

}  // namespace octet
