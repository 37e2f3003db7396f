#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/tensor/parameter.h"
#include "src/tensor/shard.h"

namespace octet {

/// How this rank's pieces of all parameters lie in one flat fp32 buffer: every piece padded to the same number of rows
/// on all ranks and aligned. Master weights and Adam moments lie so; gradients have the same pieces, in dtypes of their
/// own (ShardedBuffer, which knows where they are).
class ShardLayout {
 public:
  ShardLayout(const ParameterList& list, int rank, int ranks);

  std::size_t size() const { return shards_.size(); }
  const Shard& shard(std::size_t i) const { return shards_[i]; }
  /// Element offset of piece i in a flat fp32 buffer.
  std::int64_t offset(std::size_t i) const { return offsets_[i]; }
  std::int64_t elements() const { return elements_; }
  std::int64_t bytes() const { return elements_ * 4; }
  int ranks() const { return ranks_; }

 private:
  std::vector<Shard> shards_;
  std::vector<std::int64_t> offsets_;
  std::int64_t elements_ = 0;
  int ranks_;
};

/// A flat buffer of this rank's pieces, zeroed: fp32 in the places of that layout, or each piece in a dtype of its own.
class ShardedBuffer {
 public:
  ShardedBuffer(const ShardLayout& layout, MemorySource& source, Stream& stream, Purpose purpose);
  /// A buffer whose pieces have these dtypes, f32 or bf16: in the layout's order, each on 256 bytes.
  ShardedBuffer(const ShardLayout& layout, MemorySource& source, Stream& stream, Purpose purpose,
                std::vector<DType> dtypes);

  /// An fp32 piece, and all of them; a piece of another dtype is an internal error in both.
  float* data(std::size_t i) const;
  float* all() const;
  DType dtype(std::size_t i) const { return dtypes_[i]; }
  void* piece(std::size_t i) const { return buffer_.as<std::byte>() + offsets_[i]; }
  std::int64_t bytes() const { return buffer_.bytes(); }
  const ShardLayout& layout() const { return *layout_; }

 private:
  const ShardLayout* layout_;
  std::vector<DType> dtypes_;
  std::vector<std::int64_t> offsets_;  ///< bytes
  Buffer buffer_;
};

/// Writes the initial values of this rank's pieces: element e of a parameter is a function of (seed, its id, e) only,
/// so every layout starts from the same bits. Padding stays zero.
void initialize(const ParameterList& list, ShardedBuffer& master, std::uint64_t seed, Device& device, Stream& stream);

}  // namespace octet
