#pragma once

#include <memory>
#include <span>
#include <string>

#include "checkpoints/format/format.h"
#include "src/base/read_file.h"

namespace octet::checkpoint {

/// Writes one HDF5 file with these pieces, closes and fsyncs it, and returns its size and hash (of the bytes as they
/// are in the very file that was written, whatever stands under its name by then: see the .cpp). Every dataset carries
/// name, global shape, offset, dtype and a hash of its data as attributes, the file the run's state, so that a shard
/// identifies itself without the manifest. bf16 is stored as 16-bit and fp8 as 8-bit unsigned integers, with the
/// dtype's name in the attribute. Each piece is a dataset of the name that dataset_name derives. Only one thread of a
/// process may be in here or in ShardReader at a time (HDF5 is not thread-safe). Throws internal_error with path and
/// the system's or HDF5's reason; also when the file has lost its name in the end, or another one has it.
/// `read_back_seconds` (may be null): how long it took to read the file back and hash it.
StoredFile write_shard_file(const std::string& path, const RunState& state, std::span<const PieceData> pieces,
                            double* read_back_seconds = nullptr);

/// Where the data of a dataset lie in its file, and the hash of them that the file has.
struct StoredData {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::string hash;
};

/// An open shard file. Open it only after its hash was verified: corrupt metadata can crash HDF5. Of each piece it
/// opens the one dataset whose name derives from tensor and offset, by hard links alone, and no other storage than
/// contiguous bytes of this very file: chunks, external files, virtual datasets and links are refused, so that what is
/// read is what was hashed.
class ShardReader {
 public:
  explicit ShardReader(const std::string& path);
  ~ShardReader();
  ShardReader(ShardReader&&) noexcept;
  ShardReader& operator=(ShardReader&&) noexcept;

  /// Reads the rectangle `from` (relative to the piece) of a dataset into `to`, row-major and dense: extent elements.
  /// Throws a usage error when dataset, dtype or extents are not as the manifest says. `tensor` is that of the piece.
  void read(const StoredPiece& piece, const StoredTensor& tensor, const Box& from, void* to) const;

  /// Compares what the file says of the run, and `locate` what a dataset says of itself, with the manifest. Throw a
  /// usage error that names the attribute, and the dataset, with both values.
  void expect_state(const RunState& state) const;
  StoredData locate(const StoredPiece& piece, const StoredTensor& tensor) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace octet::checkpoint
