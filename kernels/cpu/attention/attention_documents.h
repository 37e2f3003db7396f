#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/attention.h"
#include "kernels/cpu/attention/attention_tiles.h"

namespace octet::cpu::attention {

/// Which tiles of keys the queries of a tile see where a row holds several documents, and which keys of a tile. Since
/// documents follow each other, the first key that a query sees is never before that of an earlier query.
class Documents {
 public:
  /// `begin` is PackedDocuments::begin.
  Documents(const std::int32_t* begin, const AttentionShape& shape, std::int64_t batch)
      : begin_(begin == nullptr ? nullptr : begin + batch * shape.seq), seq_(shape.seq) {}

  /// The first key that a query sees; of rows behind the sequence that of its last one.
  std::int64_t begin_of(std::int64_t query) const { return begin_ == nullptr ? 0 : begin_[std::min(query, seq_ - 1)]; }

  /// The first tile of keys that any query of the tile sees.
  std::int64_t first_tile(std::int64_t query_tile) const { return begin_of(query_tile * tile) / tile; }

  /// Writes `value` to x [key, query] where a query of the one tile must not see a key of the other, since the query's
  /// document begins behind that key.
  void mask(std::int64_t query_tile, std::int64_t key_tile, float value, float* x) const {
    const std::int64_t first = query_tile * tile, valid = std::min(tile, seq_ - first);
    if (begin_ == nullptr || begin_[first + valid - 1] <= key_tile * tile) return;
    std::int64_t seen_by = 0;  // queries, from the first on; rows beyond the sequence count as the last one
    for (std::int64_t k = 0; k < tile; ++k) {
      while (seen_by < valid && begin_[first + seen_by] <= key_tile * tile + k) ++seen_by;
      if (seen_by == valid) return;
      std::fill(x + k * tile + seen_by, x + (k + 1) * tile, value);
    }
  }

 private:
  const std::int32_t* begin_;
  std::int64_t seq_;
};

}  // namespace octet::cpu::attention
