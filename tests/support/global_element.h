#pragma once

#include <cstdint>

#include "src/tensor/shard.h"

namespace octet::test {

/// The index of the piece's element e in the whole tensor.
inline std::int64_t global_element(const Shard& shard, std::int64_t e) {
  const std::int64_t columns = shard.cut.row_elements();
  return (shard.offset + e / columns) * shard.global.row_elements() + shard.column + e % columns;
}

}  // namespace octet::test
