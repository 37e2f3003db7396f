#pragma once

#include <string>
#include <vector>

#include "checkpoints/file_parts.h"
#include "checkpoints/manifest.h"

namespace octet::checkpoint {

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
