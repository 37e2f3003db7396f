// Declared and not written yet; each goes as its kernel comes.
#include "kernels/cuda/cuda_kernels.h"

namespace octet::cuda {
__attribute__((weak)) void compute_scales(Stream&, const ComputeScales&) {
  throw internal_error("kernels", "compute_scales: not written yet");
}
__attribute__((weak)) void cast_to_float8(Stream&, const CastToFloat8&) {
  throw internal_error("kernels", "cast_to_float8: not written yet");
}
__attribute__((weak)) void transpose_float8(Stream&, const TransposeFloat8&) {
  throw internal_error("kernels", "transpose_float8: not written yet");
}
__attribute__((weak)) void convert(Stream&, const Convert&) {
  throw internal_error("kernels", "convert: not written yet");
}
__attribute__((weak)) void gemm(Stream&, const Gemm&) {
  throw internal_error("kernels", "gemm: not written yet");
}
__attribute__((weak)) std::int64_t gemm_workspace(const Gemm&) {
  throw internal_error("kernels", "gemm_workspace: not written yet");
}
__attribute__((weak)) void embedding_forward(Stream&, const EmbeddingForward&) {
  throw internal_error("kernels", "embedding_forward: not written yet");
}
__attribute__((weak)) void embedding_backward(Stream&, const EmbeddingBackward&) {
  throw internal_error("kernels", "embedding_backward: not written yet");
}
__attribute__((weak)) void add_rmsnorm_forward(Stream&, const AddRmsNormForward&) {
  throw internal_error("kernels", "add_rmsnorm_forward: not written yet");
}
__attribute__((weak)) void rmsnorm_backward(Stream&, const RmsNormBackward&) {
  throw internal_error("kernels", "rmsnorm_backward: not written yet");
}
__attribute__((weak)) std::int64_t rmsnorm_backward_workspace(const RmsNormBackward&) {
  throw internal_error("kernels", "rmsnorm_backward_workspace: not written yet");
}
__attribute__((weak)) void rope(Stream&, const Rope&) {
  throw internal_error("kernels", "rope: not written yet");
}
__attribute__((weak)) void attention_forward(Stream&, const AttentionForward&) {
  throw internal_error("kernels", "attention_forward: not written yet");
}
__attribute__((weak)) std::int64_t attention_forward_workspace(const AttentionForward&) {
  throw internal_error("kernels", "attention_forward_workspace: not written yet");
}
__attribute__((weak)) void attention_backward(Stream&, const AttentionBackward&) {
  throw internal_error("kernels", "attention_backward: not written yet");
}
__attribute__((weak)) std::int64_t attention_backward_workspace(const AttentionBackward&) {
  throw internal_error("kernels", "attention_backward_workspace: not written yet");
}
__attribute__((weak)) void swiglu_forward(Stream&, const SwigluForward&) {
  throw internal_error("kernels", "swiglu_forward: not written yet");
}
__attribute__((weak)) void swiglu_backward(Stream&, const SwigluBackward&) {
  throw internal_error("kernels", "swiglu_backward: not written yet");
}
__attribute__((weak)) void cross_entropy(Stream&, const CrossEntropy&) {
  throw internal_error("kernels", "cross_entropy: not written yet");
}
__attribute__((weak)) void adamw(Stream&, const AdamWUpdate&) {
  throw internal_error("kernels", "adamw: not written yet");
}
__attribute__((weak)) void sum(Stream&, const Sum&) {
  throw internal_error("kernels", "sum: not written yet");
}
__attribute__((weak)) void sum_of_squares(Stream&, const SumOfSquares&) {
  throw internal_error("kernels", "sum_of_squares: not written yet");
}
__attribute__((weak)) void accumulate(Stream&, const Accumulate&) {
  throw internal_error("kernels", "accumulate: not written yet");
}
__attribute__((weak)) void clip_factor(Stream&, const ClipFactor&) {
  throw internal_error("kernels", "clip_factor: not written yet");
}
}  // namespace octet::cuda
