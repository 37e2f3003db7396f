#pragma once

#include "src/base/dtype.h"
#include "src/parallel/parallel_config.h"

namespace octet {

/// What FsdpWeights and FsdpGradients do.
struct FsdpOptions {
  /// one, two or three: what a rank holds whole during a step beside its own pieces. Weights are whole, unless it is
  /// three, from their first use after an update to the next update; gradients are with one, if the step has several
  /// micro-batches.
  Zero zero = Zero::three;
  DType whole_gradients = DType::f32;  ///< f32 or bf16, see FsdpGradients
  bool float8_all_gather = true;       ///< false: gather fp8 weights in bf16 and cast the whole weight afterwards
  /// fp8 weights that stay gathered until the optimizer step have a transposed copy from their first backward on: as
  /// many bytes again, for one transposition a step in place of one a micro-batch. Not with Zero::three.
  bool keep_transposed = false;
  DType gradient_wire = DType::f32;  ///< f32 or bf16, see FsdpGradients
  /// What a GEMM leaves where it writes a gradient of a micro-batch alone (ParameterSpec::one_gemm_gradient): f32 or
  /// bf16. bf16 is for a gradient_wire of bf16, and not where anything is added to a micro-batch's gradients before
  /// they travel: with Zero::one, or without an exchange, a step has one micro-batch.
  DType gemm_gradient_dtype = DType::f32;
  bool overlap = false;  ///< gathers and reductions on streams of their own
  /// A shard group of one gathers and reduces as a larger one does, through memory of its own: for measurements.
  bool one_rank_exchange = false;
  bool poison = false;  ///< gathered memory is NaN before every gather and after every release (poison.h)
};

/// Says whether a shard group of this size gathers and reduces.
inline bool exchanges(int shards, const FsdpOptions& options) {
  return shards > 1 || options.one_rank_exchange;
}

}  // namespace octet
