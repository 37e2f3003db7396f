#pragma once

#include "kernels/adamw.h"
#include "kernels/attention.h"
#include "kernels/cast.h"
#include "kernels/cross_entropy.h"
#include "kernels/delayed.h"
#include "kernels/embedding.h"
#include "kernels/gemm.h"
#include "kernels/reduce.h"
#include "kernels/rmsnorm.h"
#include "kernels/rope.h"
#include "kernels/rowwise.h"
#include "kernels/stats.h"
#include "kernels/sum_parts.h"
#include "kernels/swiglu.h"

namespace octet {

/// Every kernel of one device. Each call is ordered on the stream; all pointers are device pointers; sizes and dtypes
/// are checked by src/ops, not here. The *_workspace functions give the bytes that the call of the same name needs.
struct KernelTable {
  /// The fp8 GEMM wants both operands with k contiguous: a not transposed, b transposed (Hopper's tensor cores).
  bool float8_gemm_k_major = false;
  /// fp32 logits of a chunk of the output head: what the device's memory bears. Each chunk adds to the whole fp32
  /// weight gradient, so the larger it is, the less of the head's time goes into that.
  std::int64_t logits_bytes = std::int64_t{256} << 20;

  void (*stats)(Stream&, const Stats&);
  void (*compute_scales)(Stream&, const ComputeScales&);
  void (*record_amax)(Stream&, const RecordAmax&);
  void (*delayed_scales)(Stream&, const DelayedScales&);
  void (*cast_to_float8)(Stream&, const CastToFloat8&);
  void (*transpose_float8)(Stream&, const TransposeFloat8&);
  void (*convert)(Stream&, const Convert&);
  void (*quantize_rowwise)(Stream&, const QuantizeRowwise&);

  void (*gemm)(Stream&, const Gemm&);
  std::int64_t (*gemm_workspace)(const Gemm&);

  void (*embedding_forward)(Stream&, const EmbeddingForward&);
  void (*embedding_backward)(Stream&, const EmbeddingBackward&);
  std::int64_t (*embedding_backward_workspace)(const EmbeddingBackward&);
  void (*add_rmsnorm_forward)(Stream&, const AddRmsNormForward&);
  void (*rmsnorm_backward)(Stream&, const RmsNormBackward&);
  std::int64_t (*rmsnorm_backward_workspace)(const RmsNormBackward&);
  void (*rope)(Stream&, const Rope&);
  void (*attention_forward)(Stream&, const AttentionForward&);
  std::int64_t (*attention_forward_workspace)(const AttentionForward&);
  void (*attention_backward)(Stream&, const AttentionBackward&);
  std::int64_t (*attention_backward_workspace)(const AttentionBackward&);
  void (*swiglu_forward)(Stream&, const SwigluForward&);
  void (*swiglu_backward)(Stream&, const SwigluBackward&);
  void (*cross_entropy)(Stream&, const CrossEntropy&);
  void (*cross_entropy_stats)(Stream&, const CrossEntropyStats&);
  void (*cross_entropy_finish)(Stream&, const CrossEntropyFinish&);

  void (*adamw)(Stream&, const AdamWUpdate&);
  void (*sum)(Stream&, const Sum&);
  void (*sum_of_squares)(Stream&, const SumOfSquares&);
  std::int64_t (*sum_of_squares_workspace)(const SumOfSquares&);
  void (*accumulate)(Stream&, const Accumulate&);
  void (*sum_parts)(Stream&, const SumParts&);
  void (*clip_factor)(Stream&, const ClipFactor&);
};

const KernelTable& cpu_kernels();
/// In a build without CUDA a usage error that says how to get it.
const KernelTable& cuda_kernels();
/// The one place where a stream's device selects the table: its watched_kernels, or its timed_kernels while a Timeline
/// lives.
const KernelTable& kernels_of(const Stream& stream);

/// The device's kernels, each of which tells the heartbeat its entry's name before it is launched: a launch blocks
/// where the device's queue is full behind work that never ends.
const KernelTable& watched_kernels(DeviceType device);
/// The same, each of which is also a span of the Timeline when that records, with its entry's name.
const KernelTable& timed_kernels(DeviceType device);

}  // namespace octet
