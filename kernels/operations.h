#pragma once

/// Every operation of the kernel table, once. The list makes the table (kernels/table.h), the declarations of each
/// device's kernels (cpu_kernels.h, cuda_kernels.h), the devices' tables, and their watched, timed and dry twins
/// (kernels/twins.cpp). A new operation is a line here, and an #include of its header in kernels/table.h, beside its
/// kernels and their tests.
///
/// PLAIN(name, Arguments, kind) is `void name(Stream&, const Arguments&)`, of that SpanKind in timelines. What
/// WITH_WORKSPACE lists has beside it `std::int64_t name_workspace(const Arguments&)`: the bytes that the call needs.
/// The arguments of each have bytes_moved(); those that multiply matrices have flops() and multiplied() too.
#define OCTET_OPERATIONS(PLAIN, WITH_WORKSPACE)                       \
  PLAIN(stats, Stats, memory_bound)                                   \
  PLAIN(compute_scales, ComputeScales, memory_bound)                  \
  PLAIN(record_amax, RecordAmax, memory_bound)                        \
  PLAIN(delayed_scales, DelayedScales, memory_bound)                  \
  PLAIN(cast_to_float8, CastToFloat8, memory_bound)                   \
  PLAIN(transpose_float8, TransposeFloat8, memory_bound)              \
  PLAIN(convert, Convert, memory_bound)                               \
  PLAIN(quantize_rowwise, QuantizeRowwise, memory_bound)              \
  PLAIN(quantize_vectors, QuantizeVectors, memory_bound)              \
  PLAIN(quantize_blocks, QuantizeBlocks, memory_bound)                \
  WITH_WORKSPACE(gemm, Gemm, gemm)                                    \
  PLAIN(embedding_forward, EmbeddingForward, memory_bound)            \
  WITH_WORKSPACE(embedding_backward, EmbeddingBackward, memory_bound) \
  PLAIN(add_rmsnorm_forward, AddRmsNormForward, memory_bound)         \
  WITH_WORKSPACE(rmsnorm_backward, RmsNormBackward, memory_bound)     \
  PLAIN(rope, Rope, memory_bound)                                     \
  WITH_WORKSPACE(attention_forward, AttentionForward, attention)      \
  WITH_WORKSPACE(attention_backward, AttentionBackward, attention)    \
  WITH_WORKSPACE(span_attention, SpanAttention, attention)            \
  PLAIN(swiglu_forward, SwigluForward, memory_bound)                  \
  PLAIN(swiglu_backward, SwigluBackward, memory_bound)                \
  PLAIN(cross_entropy, CrossEntropy, memory_bound)                    \
  PLAIN(cross_entropy_stats, CrossEntropyStats, memory_bound)         \
  PLAIN(cross_entropy_finish, CrossEntropyFinish, memory_bound)       \
  PLAIN(adamw, AdamWUpdates, memory_bound)                            \
  PLAIN(predict_scales, PredictScales, memory_bound)                  \
  PLAIN(recast_float8, RecastFloat8, memory_bound)                    \
  PLAIN(sum, Sum, memory_bound)                                       \
  WITH_WORKSPACE(sum_of_squares, SumOfSquares, memory_bound)          \
  PLAIN(accumulate, Accumulate, memory_bound)                         \
  PLAIN(sum_parts, SumParts, memory_bound)                            \
  PLAIN(clip_factor, ClipFactor, memory_bound)                        \
  PLAIN(fill_normal, FillNormal, memory_bound)

// NOLINTBEGIN(bugprone-macro-parentheses): names and types of a declaration cannot stand in parentheses.
// What the list is turned into in more than one place: declarations, and the initializers of a table from the kernels
// of the namespace in which it stands.
#define OCTET_DECLARE(name, Arguments, kind) void name(Stream&, const Arguments&);
#define OCTET_DECLARE_WITH_WORKSPACE(name, Arguments, kind) \
  OCTET_DECLARE(name, Arguments, kind)                      \
  std::int64_t name##_workspace(const Arguments&);
#define OCTET_INITIALIZE(name, Arguments, kind) .name = name,
#define OCTET_INITIALIZE_WITH_WORKSPACE(name, Arguments, kind) .name = name, .name##_workspace = name##_workspace,
// NOLINTEND(bugprone-macro-parentheses)
