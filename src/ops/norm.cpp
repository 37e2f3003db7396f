#include "src/ops/norm.h"

#include "src/ops/expect.h"

namespace octet {

void add_rmsnorm(OpContext& op, const Tensor& residual, const Tensor& branch, const Tensor& weight, float eps,
                 const Tensor& sum, const Produced& y, float* inverse_rms) {
  const Expect expect{"rmsnorm"};
  expect.matrix("residual", residual);
  if (branch.shape.rank() != 0) expect.same("branch", branch, residual);
  expect.is("weight", weight, residual.dtype, {residual.shape[1]});
  expect.same("sum", sum, residual);
  expect.same("y", y.x, residual);
  op.kernels.add_rmsnorm_forward(op.stream, {.residual = residual.data,
                                             .branch = branch.data,
                                             .weight = weight.data,
                                             .sum = sum.data,
                                             .y = y.x.data,
                                             .inverse_rms = inverse_rms,
                                             .dtype = residual.dtype,
                                             .rows = residual.shape[0],
                                             .dim = residual.shape[1],
                                             .eps = eps,
                                             .stats = y.stats,
                                             .float8 = y.float8});
}

void rmsnorm_backward(OpContext& op, const Tensor& dy, const Normed& normed, ResidualGradient residual,
                      const Produced& dh, const GradientTarget& d_weight) {
  const Tensor& x = normed.x;
  const Expect expect{"rmsnorm backward"};
  expect.matrix("x", x);
  expect.is("weight", normed.weight, x.dtype, {x.shape[1]});
  expect.same("dy", dy, x);
  expect.same("dh", dh.x, x);
  expect.is("d_weight", d_weight.tensor, DType::f32, {x.shape[1]});
  const ArenaScope scope(op.scratch);
  RmsNormBackward args{.dy = dy.data,
                       .x = x.data,
                       .weight = normed.weight.data,
                       .inverse_rms = normed.inverse_rms,
                       .d_residual = residual == ResidualGradient::in_dh ? dh.x.data : nullptr,
                       .dx = dh.x.data,
                       .d_weight = d_weight.tensor.as<float>(),
                       .accumulate = d_weight.accumulate,
                       .dtype = x.dtype,
                       .rows = x.shape[0],
                       .dim = x.shape[1],
                       .stats = dh.stats,
                       .float8 = dh.float8};
  args.workspace = op.scratch.allocate(op.kernels.rmsnorm_backward_workspace(args));
  op.kernels.rmsnorm_backward(op.stream, args);
}

}  // namespace octet
