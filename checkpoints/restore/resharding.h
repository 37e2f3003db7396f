#pragma once

#include <span>
#include <string>
#include <vector>

#include "checkpoints/format/manifest.h"
#include "checkpoints/restore/open_shards.h"
#include "src/base/read_file.h"

namespace octet::checkpoint {

/// A piece that a rank wants: a rectangle of the tensor of that name, dense and row-major at `data` (host).
struct WantedPiece {
  std::string tensor;
  Box box;
  void* data = nullptr;
  DType dtype = DType::f32;  ///< that the tensor must have
  Shape shape = {};          ///< that the tensor must have; not looked at when it has no dimensions
};

/// One copy of a load: the part of `wanted` (index) that is in `piece` (index into Manifest::pieces).
struct ReadStep {
  std::int32_t piece = 0;
  std::int32_t wanted = 0;
  Box in_piece;   ///< relative to the piece
  Box in_wanted;  ///< relative to the wanted rectangle, same extent
};

/// The copies that fill all of `wanted`, in the order of files and pieces. Pure: any layout from any other. Throws a
/// usage error for a tensor that is not there, of another dtype or shape than wanted, or not all of whose wanted
/// elements are in pieces.
std::vector<ReadStep> plan_reads(const Manifest& manifest, std::span<const WantedPiece> wanted);

/// What read_pieces takes beside the destinations, but for a row that is longer.
inline constexpr std::int64_t read_buffer_bytes = std::int64_t{4} << 20;

/// Executes plan_reads on a directory whose files were verified, file by file, which it opens through `shards` and
/// leaves there. Takes a buffer of 4 MiB, or of one row of a piece, beside the destination. HDF5: one thread of a
/// process at a time. Throws ReadError where HDF5 cannot read what is there.
void read_pieces(const std::string& checkpoint_directory, const Manifest& manifest, std::span<const WantedPiece> wanted,
                 OpenShards& shards, files::ReadProgress& progress);
void read_pieces(const std::string& checkpoint_directory, const Manifest& manifest,
                 std::span<const WantedPiece> wanted);

}  // namespace octet::checkpoint
