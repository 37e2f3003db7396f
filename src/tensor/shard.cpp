#include "src/tensor/shard.h"

#include <algorithm>

namespace octet {

Shard Shard::of(const Shape& global, int rank, int ranks) {
  const std::int64_t padded = (global[0] + ranks - 1) / ranks;
  const std::int64_t begin = std::min(padded * rank, global[0]);
  const std::int64_t end = std::min(begin + padded, global[0]);
  return {global, begin, end - begin, padded};
}

}  // namespace octet
