#pragma once

#include "src/base/dtype.h"

namespace octet {

/// What FsdpWeights and FsdpGradients do.
struct FsdpOptions {
  bool reshard_after_forward = true;
  bool float8_all_gather = true;  ///< false: gather fp8 weights in bf16 and cast the whole weight afterwards
  /// fp8 weights that stay gathered until the optimizer step have a transposed copy from their first backward on: as
  /// many bytes again, for one transposition a step in place of one a micro-batch. Not with reshard_after_forward.
  bool keep_transposed = false;
  DType gradient_wire = DType::f32;  ///< f32 or bf16, see FsdpGradients
  bool overlap = false;              ///< gathers and reductions on streams of their own
  /// A shard group of one gathers and reduces as a larger one does, through memory of its own: for measurements.
  bool one_rank_exchange = false;
  bool poison = false;  ///< gathered memory is NaN before every gather and after every release (poison.h)
};

/// Says whether a shard group of this size gathers and reduces.
inline bool exchanges(int shards, const FsdpOptions& options) {
  return shards > 1 || options.one_rank_exchange;
}

}  // namespace octet
