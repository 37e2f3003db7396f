#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "checkpoints/format/format.h"

namespace octet::checkpoint {

/// Who writes what, of all ranks: with a million pieces some hundred megabytes, which rank 0 alone makes and keeps.
struct SavePlan {
  struct Piece {
    std::int32_t tensor = 0;  ///< index into `tensors`
    Box box;
  };

  std::vector<StoredTensor> tensors;       ///< in the order in which ranks name them, rank 0 first
  std::vector<std::vector<Piece>> copies;  ///< by rank: what it copies to host memory, of all that it has
  std::vector<int> writer;                 ///< by rank: who writes what it copied
  std::int64_t bytes = 0;                  ///< of all tensors, without what files add

  /// What each rank writes, in the order of its file: what it copied and then what its group did. A rank that has
  /// nothing to write makes no file.
  std::vector<std::vector<Piece>> writes() const;

  /// How many there are.
  std::int64_t pieces() const;

  /// The host memory of a plan of so many pieces of these tensors, and of this one.
  static std::int64_t host_bytes(std::int64_t pieces, std::span<const StoredTensor> tensors);
  std::int64_t host_bytes() const;
};

/// This rank's pieces without their data, to be told to the others. Equal text, equal plan.
std::string describe_pieces(std::span<const DevicePiece> pieces);

/// The pieces that a description is of.
std::vector<DevicePiece> described_pieces(const std::string& description);

/// A plan, and for each rank the indices of its copies in its own list of pieces, ascending.
struct PlannedSave {
  SavePlan plan;
  std::vector<std::vector<std::int32_t>> places;
};

/// The plan from the descriptions of all ranks, which go as they are read. Pure. A piece that several ranks have is
/// copied by one of them, an empty one by none. `writer` as in the plan; empty where every rank writes its own. Throws
/// a usage error for a tensor that has two shapes or dtypes, or is not covered exactly once.
PlannedSave plan_save(std::vector<std::string> descriptions, std::vector<int> writer = {});

}  // namespace octet::checkpoint
