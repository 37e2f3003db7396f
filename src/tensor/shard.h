#pragma once

#include <cstdint>

#include "src/tensor/tensor.h"

namespace octet {

/// One rank's piece of a global tensor, split along dimension 0 into equal pieces of `padded_rows` (the last ones are
/// short or empty, as torch.chunk and FSDP2 do). Rows beyond `rows` are padding: zero, and never part of a norm, an
/// abs-max or a checkpoint. The pieces of all ranks laid end to end are the tensor, with all padding at its end.
struct Shard {
  Shape global;
  std::int64_t offset = 0;       ///< first global row of this piece
  std::int64_t rows = 0;         ///< rows that exist
  std::int64_t padded_rows = 0;  ///< rows that are stored

  /// Piece `rank` of `ranks`.
  static Shard of(const Shape& global, int rank, int ranks);

  std::int64_t elements() const { return rows * global.row_elements(); }
  std::int64_t padded_elements() const { return padded_rows * global.row_elements(); }
  /// Global index of the piece's first element, the counter of random initial values.
  std::int64_t first_element() const { return offset * global.row_elements(); }
};

}  // namespace octet
