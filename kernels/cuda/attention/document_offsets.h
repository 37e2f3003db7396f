#pragma once

#include <array>
#include <cstdint>

#include "kernels/attention.h"
#include "src/device/device.h"

/// Rows of several documents for cuDNN: a batch entry is a document, which begins at an offset in elements.
namespace octet::cuda {

/// More than these go to our own kernels: cuDNN launches blocks for every place, and for each of the longest length.
constexpr std::int64_t most_document_places = 1024;

/// What a plan with documents takes besides its other operands, in their order: the offsets [places + 1] in int64 of
/// queries (and outputs), of keys (and values) and of log-sum-exps, and the lengths [places] in int32.
class DocumentOffsets {
 public:
  /// In memory of `bytes` at `place`, which is aligned to 256.
  DocumentOffsets(void* place, const AttentionShape& shape, const PackedDocuments& documents);

  /// Makes them, in the order of the stream.
  void make(Stream& stream) const;
  std::array<void*, 4> operands() const { return {queries_, keys_, sums_, lengths_}; }

  /// A multiple of 256.
  static std::int64_t bytes(std::int64_t places);

 private:
  const AttentionShape& shape_;
  const PackedDocuments& documents_;
  std::int64_t* queries_;
  std::int64_t* keys_;
  std::int64_t* sums_;
  std::int32_t* lengths_;
};

}  // namespace octet::cuda
