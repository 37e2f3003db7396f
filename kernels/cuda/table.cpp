#include "kernels/table.h"

#include "kernels/cuda/cuda_kernels.h"

namespace octet {

const KernelTable& cuda_kernels() {
  static constexpr KernelTable table = {
      .float8_gemm_k_major = true,
      .logits_bytes = std::int64_t{1} << 30,
      .stats = cuda::stats,
      .compute_scales = cuda::compute_scales,
      .record_amax = cuda::record_amax,
      .delayed_scales = cuda::delayed_scales,
      .cast_to_float8 = cuda::cast_to_float8,
      .transpose_float8 = cuda::transpose_float8,
      .convert = cuda::convert,
      .quantize_rowwise = cuda::quantize_rowwise,
      .gemm = cuda::gemm,
      .gemm_workspace = cuda::gemm_workspace,
      .embedding_forward = cuda::embedding_forward,
      .embedding_backward = cuda::embedding_backward,
      .embedding_backward_workspace = cuda::embedding_backward_workspace,
      .add_rmsnorm_forward = cuda::add_rmsnorm_forward,
      .rmsnorm_backward = cuda::rmsnorm_backward,
      .rmsnorm_backward_workspace = cuda::rmsnorm_backward_workspace,
      .rope = cuda::rope,
      .attention_forward = cuda::attention_forward,
      .attention_forward_workspace = cuda::attention_forward_workspace,
      .attention_backward = cuda::attention_backward,
      .attention_backward_workspace = cuda::attention_backward_workspace,
      .swiglu_forward = cuda::swiglu_forward,
      .swiglu_backward = cuda::swiglu_backward,
      .cross_entropy = cuda::cross_entropy,
      .cross_entropy_stats = cuda::cross_entropy_stats,
      .cross_entropy_finish = cuda::cross_entropy_finish,
      .adamw = cuda::adamw,
      .sum = cuda::sum,
      .sum_of_squares = cuda::sum_of_squares,
      .sum_of_squares_workspace = cuda::sum_of_squares_workspace,
      .accumulate = cuda::accumulate,
      .sum_parts = cuda::sum_parts,
      .clip_factor = cuda::clip_factor,
  };
  return table;
}

}  // namespace octet
