#include "src/ops/norm.h"

namespace octet {

void add_rmsnorm(OpContext& context, const Tensor& residual, const Tensor& branch, const Tensor& weight, float eps,
                 const Tensor& sum, const Tensor& y, float* inverse_rms, const StatsOut& stats,
                 const Float8Out& float8) {
  context.kernels.add_rmsnorm_forward(context.stream, {.residual = residual.data,
                                                       .branch = branch.data,
                                                       .weight = weight.data,
                                                       .sum = sum.data,
                                                       .y = y.data,
                                                       .inverse_rms = inverse_rms,
                                                       .dtype = residual.dtype,
                                                       .rows = residual.shape[0],
                                                       .dim = residual.shape[1],
                                                       .eps = eps,
                                                       .stats = stats,
                                                       .float8 = float8});
}

void rmsnorm_backward(OpContext& context, const Tensor& dy, const Tensor& x, const Tensor& weight,
                      const float* inverse_rms, const Tensor& dh, bool first, const Tensor& d_weight, bool accumulate,
                      const StatsOut& stats, const Float8Out& float8) {
  ArenaScope scope(context.scratch);
  RmsNormBackward args{.dy = dy.data,
                       .x = x.data,
                       .weight = weight.data,
                       .inverse_rms = inverse_rms,
                       .d_residual = first ? nullptr : dh.data,
                       .dx = dh.data,
                       .d_weight = static_cast<float*>(d_weight.data),
                       .accumulate = accumulate,
                       .dtype = dy.dtype,
                       .rows = x.shape[0],
                       .dim = x.shape[1],
                       .stats = stats,
                       .float8 = float8};
  args.workspace = context.scratch.allocate(context.kernels.rmsnorm_backward_workspace(args));
  context.kernels.rmsnorm_backward(context.stream, args);
}

}  // namespace octet
