#pragma once

#include <span>
#include <string>
#include <vector>

#include "checkpoints/manifest.h"

namespace octet::checkpoint {

/// A piece that a rank wants: a rectangle of the tensor of that name, dense and row-major at `data` (host).
struct WantedPiece {
  std::string tensor;
  Box box;
  void* data = nullptr;
};

/// One copy of a load: the part of `wanted` (index) that is in `piece` (index into Manifest::pieces).
struct ReadStep {
  std::int32_t piece = 0;
  std::int32_t wanted = 0;
  Box in_piece;   ///< relative to the piece
  Box in_wanted;  ///< relative to the wanted rectangle, same extent
};

/// The copies that fill all of `wanted`, in the order of files and pieces. Pure: any layout from any other. Throws a
/// usage error for a tensor that is not there, or of another dtype or shape than `shapes` say.
std::vector<ReadStep> plan_reads(const Manifest& manifest, std::span<const WantedPiece> wanted);

/// Which of the ranks that hold a copy of each piece writes it: a piece of every rank in, `writes[rank]` out, every
/// distinct (tensor, box) exactly once, balanced by bytes over the ranks that have it. Pure and the same on every rank.
struct HeldPiece {
  std::int32_t tensor = 0;
  Box box;
  std::int64_t bytes = 0;
};
std::vector<std::vector<std::int32_t>> assign_writers(const std::vector<std::vector<HeldPiece>>& held_by_rank);

/// Executes plan_reads on a directory whose files were verified. Opens each file once.
void read_pieces(const std::string& checkpoint_directory, const Manifest& manifest,
                 std::span<const WantedPiece> wanted);

}  // namespace octet::checkpoint
