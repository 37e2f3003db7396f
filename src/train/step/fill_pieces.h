#pragma once

#include <functional>
#include <span>

#include "checkpoints/format.h"
#include "src/parallel/sharded_parameters.h"
#include "src/tensor/shard.h"

namespace octet {

/// What a shard covers of its tensor.
checkpoint::Box box_of(const Shard& shard);

/// A piece that this rank has of a parameter, and where its fp32 elements go in host memory, dense and row-major.
struct HostPiece {
  const ParameterSpec& parameter;
  checkpoint::Box box;
  float* data;
};

/// Calls `read` with all of this rank's pieces that have elements, and puts what it has read into the buffer. On a GPU
/// they go through host memory of that size, which ends here; on the CPU `read` writes to the buffer itself.
void fill_pieces(const ParameterList& list, const ShardedBuffer& buffer, Stream& stream,
                 const std::function<void(std::span<const HostPiece>)>& read);

}  // namespace octet
