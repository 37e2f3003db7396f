#pragma once

#include <cstdint>
#include <vector>

#include "checkpoints/format/format.h"

namespace octet::checkpoint {

/// A piece as the choice of its writer sees it.
struct HeldPiece {
  std::int32_t tensor = 0;  ///< its number, the same on all ranks
  Box box;
  std::int64_t bytes = 0;
};

/// Which of the ranks that hold a copy of each piece writes it: the pieces that each rank holds in, and for each rank
/// the indices of those of its pieces that it writes out, ascending. Every distinct (tensor, box) is written exactly
/// once, balanced by bytes over the ranks that have it; pieces without elements are written by nobody. Pure. Throws an
/// internal error when copies of one piece differ in bytes.
std::vector<std::vector<std::int32_t>> assign_writers(const std::vector<std::vector<HeldPiece>>& held_by_rank);

}  // namespace octet::checkpoint
