#pragma once

#include "kernels/table.h"

/// The CPU kernels, one file an op, named as the header of the op. Reached through the table only.
namespace octet::cpu {

void stats(Stream&, const Stats&);
void compute_scales(Stream&, const ComputeScales&);
void record_amax(Stream&, const RecordAmax&);
void delayed_scales(Stream&, const DelayedScales&);
void cast_to_float8(Stream&, const CastToFloat8&);
void transpose_float8(Stream&, const TransposeFloat8&);
void convert(Stream&, const Convert&);
void quantize_rowwise(Stream&, const QuantizeRowwise&);

void gemm(Stream&, const Gemm&);
std::int64_t gemm_workspace(const Gemm&);

void embedding_forward(Stream&, const EmbeddingForward&);
void embedding_backward(Stream&, const EmbeddingBackward&);
std::int64_t embedding_backward_workspace(const EmbeddingBackward&);
void add_rmsnorm_forward(Stream&, const AddRmsNormForward&);
void rmsnorm_backward(Stream&, const RmsNormBackward&);
std::int64_t rmsnorm_backward_workspace(const RmsNormBackward&);
void rope(Stream&, const Rope&);
void attention_forward(Stream&, const AttentionForward&);
std::int64_t attention_forward_workspace(const AttentionForward&);
void attention_backward(Stream&, const AttentionBackward&);
std::int64_t attention_backward_workspace(const AttentionBackward&);
void swiglu_forward(Stream&, const SwigluForward&);
void swiglu_backward(Stream&, const SwigluBackward&);
void cross_entropy(Stream&, const CrossEntropy&);
void cross_entropy_stats(Stream&, const CrossEntropyStats&);
void cross_entropy_finish(Stream&, const CrossEntropyFinish&);

/// The fp8 form of a tensor that a kernel has just written.
void cast_output(Stream&, const Float8Out& out, const void* x, DType dtype, std::int64_t n, std::int64_t columns);

void adamw(Stream&, const AdamWUpdate&);
void sum(Stream&, const Sum&);
void sum_of_squares(Stream&, const SumOfSquares&);
std::int64_t sum_of_squares_workspace(const SumOfSquares&);
void accumulate(Stream&, const Accumulate&);
void sum_parts(Stream&, const SumParts&);
void clip_factor(Stream&, const ClipFactor&);

}  // namespace octet::cpu
