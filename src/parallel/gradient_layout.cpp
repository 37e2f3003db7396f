#include "src/parallel/gradient_layout.h"

#include "src/base/round_up.h"
#include "src/tensor/shard.h"

namespace octet {

std::vector<DType> gradient_piece_dtypes(const ParameterList& list, int shards, const FsdpOptions& options) {
  std::vector<DType> dtypes;
  for (const ParameterSpec& p : list.parameters) {
    dtypes.push_back(exchanges(shards, options) ? DType::f32 : gradient_dtype(p, options));
  }
  return dtypes;
}

GradientLayout::GradientLayout(const ParameterList& list, int shards, const FsdpOptions& options)
    : places_(list.parameters.size()), units_(list.units.size()) {
  for (std::size_t i = 0; i < places_.size(); ++i) places_[i].dtype = gradient_dtype(list.parameters[i], options);
  if (!exchanges(shards, options)) return;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      Place& place = places_[i];
      if (place.dtype != dtype) continue;
      const ParameterSpec& p = list.parameters[i];
      Unit& unit = units_[static_cast<std::size_t>(p.unit)];
      const std::int64_t bytes = Shard::of(p.shape, 0, shards).padded_elements() * shards * size_of(dtype);
      place.offset = unit.bytes;
      place.bytes = round_up(bytes, place_alignment);
      unit.bytes += place.bytes;
      if (dtype == DType::f32) unit.fp32 += place.bytes;
    }
  }
}

std::int64_t GradientLayout::offset_in_bf16(int unit, std::size_t parameter) const {
  const std::int64_t offset = places_[parameter].offset, fp32 = fp32_bytes(unit);
  return places_[parameter].dtype == DType::f32 ? offset / 2 : offset - fp32 / 2;
}

std::int64_t GradientLayout::bytes_in_bf16(int unit) const {
  return unit_bytes(unit) - fp32_bytes(unit) / 2;
}

}  // namespace octet
