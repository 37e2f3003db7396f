#pragma once

#include <optional>

#include "kernels/table.h"
#include "src/comm/communicator.h"
#include "src/parallel/sharded_parameters.h"

namespace octet {

/// A tied embedding in a pipeline: the first stage and the last have a copy each, with gradients of its use as
/// embedding and as head. Their sum goes into both, so that both copies make the same step and keep the same bits.
/// Pieces are summed, not whole gradients: both stages cut the parameter alike, so that equal places hold the same
/// elements.
class TiedEmbedding {
 public:
  /// `pipeline`: the ranks of a pipeline, the first stage on the first and the last on the last. Does nothing on the
  /// others, nor without `tied`.
  TiedEmbedding(const ParameterList& list, bool tied, ShardedBuffer& gradients, Communicator& pipeline, Stream& stream);

  /// Says whether this rank's copy is the one that counts in the norm, or the only one.
  bool counts() const { return !parameter_ || pipeline_.rank() == 0; }
  /// To be called once a step by the ranks of both ends, when their gradients are sums over everything else.
  void sum();

 private:
  ShardedBuffer& gradients_;
  Communicator& pipeline_;
  Stream& stream_;
  std::optional<std::size_t> parameter_;  ///< its place in the list, where there is something to sum
  TensorBuffer other_;                    ///< the other end's piece
};

}  // namespace octet
