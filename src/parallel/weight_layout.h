#pragma once

#include <cstdint>
#include <vector>

#include "src/base/dtype.h"
#include "src/parallel/fsdp_options.h"
#include "src/tensor/parameter.h"

namespace octet {

/// Where the weights of a unit lie while it is gathered, each whole, as the pieces of all ranks end to end, in a place
/// of a multiple of 256 bytes. fp8 weights that are cast after the gather have a second place, which holds what
/// travels: their bf16 forms lie together, in memory of their own. Offsets and sizes are bytes.
class WeightLayout {
 public:
  WeightLayout(const ParameterList& list, int shards, const FsdpOptions& options);

  /// A whole fp32 weight of a group of one is the master itself, and has no place.
  bool is_master(std::size_t parameter) const { return places_[parameter].is_master; }
  /// An fp8 weight that is gathered in bf16, and cast then.
  bool cast_after(std::size_t parameter) const { return places_[parameter].cast_after; }
  /// The dtype in which pieces are cast and sent.
  DType travels(std::size_t parameter) const { return places_[parameter].travels; }
  /// From the beginning of the unit's memory, or of that of its bf16 forms.
  std::int64_t offset(std::size_t parameter) const { return places_[parameter].offset; }
  std::int64_t bf16_offset(std::size_t parameter) const { return places_[parameter].bf16_offset; }
  /// From the beginning of memory of largest_unit() bytes, where one rank alone has what it sends.
  std::int64_t staging_offset(std::size_t parameter) const { return places_[parameter].staging_offset; }

  std::int64_t bytes(int unit) const { return units_[static_cast<std::size_t>(unit)].bytes; }
  std::int64_t bf16_bytes(int unit) const { return units_[static_cast<std::size_t>(unit)].bf16_bytes; }
  /// Of the largest unit, with its bf16 forms behind it.
  std::int64_t largest_unit() const;

 private:
  struct Place {
    bool is_master = false, cast_after = false;
    DType travels = DType::f32;
    std::int64_t offset = 0, bf16_offset = 0, staging_offset = 0;
  };
  struct Unit {
    std::int64_t bytes = 0, bf16_bytes = 0;
  };

  std::vector<Place> places_;  ///< [parameters]
  std::vector<Unit> units_;
};

}  // namespace octet
