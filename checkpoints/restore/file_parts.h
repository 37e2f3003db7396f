#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoints/format/manifest.h"
#include "checkpoints/restore/open_shards.h"

namespace octet::checkpoint {

// Tools take tensors of any size through memory part by part.

/// A rectangle of a stored tensor: whole rows, few enough to be held in memory.
struct Part {
  std::int32_t tensor = 0;  ///< index into Manifest::tensors
  Box box;

  bool operator==(const Part&) const = default;
};

/// The most bytes that a tool holds of one checkpoint at a time, but for a row that is longer.
inline constexpr std::int64_t most_part_bytes = std::int64_t{256} << 20;

std::int64_t bytes_of(const StoredTensor& tensor, const Box& box);
/// The bytes of all tensors.
std::int64_t bytes_of(const std::vector<StoredTensor>& tensors);

/// Rows [begin, begin + rows) of tensor number `index`, as parts of at most `most` bytes, in order. None of no
/// elements.
std::vector<Part> row_parts(const StoredTensor& tensor, std::int32_t index, std::int64_t begin, std::int64_t rows,
                            std::int64_t most = most_part_bytes);
/// All rows of the tensor.
std::vector<Part> row_parts(const StoredTensor& tensor, std::int32_t index, std::int64_t most = most_part_bytes);

/// Reads parts of a checkpoint in a given order: several small ones at a time, so that files are not looked into for
/// each. The files were verified. One thread of the process calls it (HDF5).
class PartReader {
 public:
  /// `manifest` outlives the reader.
  PartReader(std::string directory, const Manifest& manifest, std::vector<Part> parts,
             std::int64_t most = most_part_bytes);

  /// The elements of the next part, row-major; valid until the next call. Throws as read_pieces does, and an internal
  /// error after the last part.
  const void* next();

 private:
  void read_batch();

  std::string directory_;
  const Manifest& manifest_;
  std::vector<std::vector<std::int32_t>> pieces_of_;  ///< of each tensor, indices into manifest_.pieces
  std::vector<Part> parts_;
  std::int64_t most_;
  OpenShards shards_;
  std::vector<char> data_;
  std::vector<std::int64_t> offsets_;  ///< of the batch's parts in data_
  std::size_t batch_begin_ = 0;        ///< first part of the batch
  std::size_t next_ = 0;
};

/// A checkpoint whose files were verified; only such may be given to HDF5.
struct WholeCheckpoint {
  std::string directory;
  Manifest manifest;
};

/// Parts of fp32 tensors in a given order, each element the mean over several checkpoints: summed in double in their
/// order, divided, and rounded to fp32 once. Of one checkpoint they are its own elements. Takes `most` bytes, however
/// many there are, but for rows that are longer than a share of it. One thread of the process calls it (HDF5).
class MeanReader {
 public:
  /// All rows of `tensors`, by name, in this order. `from`, of at least one, outlives the reader. Usage error that
  /// names checkpoint and tensor where one lacks it or has it in another shape or dtype than fp32.
  MeanReader(const std::vector<WholeCheckpoint>& from, const std::vector<StoredTensor>& tensors,
             std::int64_t most = most_part_bytes);

  /// `tensor` is an index into the tensors that were asked for.
  const std::vector<Part>& parts() const { return parts_; }
  /// The next part, valid until the next call; throws as PartReader.
  const float* next();

 private:
  std::vector<Part> parts_;
  std::vector<PartReader> readers_;
  std::size_t next_ = 0;
  std::vector<double> sum_;
  std::vector<float> mean_;
};

}  // namespace octet::checkpoint
