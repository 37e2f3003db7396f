#include "src/tensor/shard.h"

#include <algorithm>

#include "src/base/round_up.h"

namespace octet {

Shape TensorCut::shape(const Shape& global) const {
  if (dim < 0) return global;
  if (dim >= std::min(global.rank(), 2) || global[dim] % part.count != 0) {
    throw internal_error("tensor", "{} cannot be cut into {} equal parts along dimension {}", global.text(), part.count,
                         dim);
  }
  const std::int64_t extent = global[dim] / part.count;
  if (dim == 0) return global.with_rows(extent);
  if (global.rank() != 2) throw internal_error("tensor", "{} cannot be cut along dimension 1", global.text());
  return {global[0], extent};
}

Shard Shard::of(const Shape& global, const TensorCut& cut, int rank, int ranks) {
  const Shape part = cut.shape(global);
  const std::int64_t padded = ceil_div(part[0], ranks);
  const std::int64_t begin = std::min(padded * rank, part[0]);
  const std::int64_t end = std::min(begin + padded, part[0]);
  return {.global = global,
          .cut = part,
          .offset = begin + (cut.dim == 0 ? cut.part.index * part[0] : 0),
          .column = cut.dim == 1 ? cut.part.index * part[1] : 0,
          .rows = end - begin,
          .padded_rows = padded};
}

}  // namespace octet
