#include "kernels/table.h"

#include "kernels/cpu/cpu_kernels.h"

namespace octet {

const KernelTable& cpu_kernels() {
  static constexpr KernelTable table = {
      .stats = cpu::stats,
      .compute_scales = cpu::compute_scales,
      .record_amax = cpu::record_amax,
      .delayed_scales = cpu::delayed_scales,
      .cast_to_float8 = cpu::cast_to_float8,
      .transpose_float8 = cpu::transpose_float8,
      .convert = cpu::convert,
      .quantize_rowwise = cpu::quantize_rowwise,
      .gemm = cpu::gemm,
      .gemm_workspace = cpu::gemm_workspace,
      .embedding_forward = cpu::embedding_forward,
      .embedding_backward = cpu::embedding_backward,
      .embedding_backward_workspace = cpu::embedding_backward_workspace,
      .add_rmsnorm_forward = cpu::add_rmsnorm_forward,
      .rmsnorm_backward = cpu::rmsnorm_backward,
      .rmsnorm_backward_workspace = cpu::rmsnorm_backward_workspace,
      .rope = cpu::rope,
      .attention_forward = cpu::attention_forward,
      .attention_forward_workspace = cpu::attention_forward_workspace,
      .attention_backward = cpu::attention_backward,
      .attention_backward_workspace = cpu::attention_backward_workspace,
      .swiglu_forward = cpu::swiglu_forward,
      .swiglu_backward = cpu::swiglu_backward,
      .cross_entropy = cpu::cross_entropy,
      .cross_entropy_stats = cpu::cross_entropy_stats,
      .cross_entropy_finish = cpu::cross_entropy_finish,
      .adamw = cpu::adamw,
      .sum = cpu::sum,
      .sum_of_squares = cpu::sum_of_squares,
      .sum_of_squares_workspace = cpu::sum_of_squares_workspace,
      .accumulate = cpu::accumulate,
      .sum_parts = cpu::sum_parts,
      .clip_factor = cpu::clip_factor,
  };
  return table;
}

}  // namespace octet
