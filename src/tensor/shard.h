#pragma once

#include <cstdint>

#include "src/tensor/tensor.h"

namespace octet {

/// Bytes: in a rank's own buffers each piece of a parameter begins at a multiple of it, and in the memory of a unit
/// that is gathered each whole parameter does. (The pieces in that follow each other without a gap.)
constexpr std::int64_t place_alignment = 256;

/// Part `index` of `count`.
struct Part {
  int index = 0;
  int count = 1;
  bool operator==(const Part&) const = default;
};

/// How tensor parallelism cuts a tensor: `part` of equal parts along dimension `dim`. Without a dimension every rank of
/// the group has the whole tensor, the same bits.
struct TensorCut {
  int dim = -1;
  Part part;

  bool replicated() const { return dim < 0 && part.count > 1; }
  /// What is left of `global`. Internal error when the extent does not divide.
  Shape shape(const Shape& global) const;
};

/// One rank's piece of a global tensor: what the cut leaves of it, split along dimension 0 into equal pieces of
/// `padded_rows` (the last ones are short or empty, as torch.chunk and FSDP2 do). Rows beyond `rows` are padding: zero,
/// and never part of a norm, an abs-max or a checkpoint. The pieces of all ranks laid end to end are the cut tensor,
/// with all padding at its end.
struct Shard {
  Shape global;
  Shape cut;                     ///< what tensor parallelism leaves of it; `global` without
  std::int64_t offset = 0;       ///< first global row of this piece
  std::int64_t column = 0;       ///< first global column
  std::int64_t rows = 0;         ///< rows that exist
  std::int64_t padded_rows = 0;  ///< rows that are stored

  /// Piece `rank` of `ranks` of what the cut leaves.
  static Shard of(const Shape& global, const TensorCut& cut, int rank, int ranks);
  static Shard of(const Shape& global, int rank, int ranks) { return of(global, {}, rank, ranks); }

  std::int64_t elements() const { return rows * cut.row_elements(); }
  std::int64_t padded_elements() const { return padded_rows * cut.row_elements(); }
};

}  // namespace octet
