#pragma once

#include "src/ops/context.h"
#include "src/tensor/tensor.h"

namespace octet {

/// sum = residual + branch (branch may have no data: then sum is residual), y = rmsnorm(sum) · weight.
/// All [n, dim] in one dtype, weight [dim], inverse_rms [n] fp32 kept for backward. y may have no data where only its
/// `float8` form is wanted.
void add_rmsnorm(OpContext& context, const Tensor& residual, const Tensor& branch, const Tensor& weight, float eps,
                 const Tensor& sum, const Tensor& y, float* inverse_rms, const StatsOut& stats,
                 const Float8Out& float8 = {});

/// dh = dh + gradient of the norm's input, in place: dh enters as the gradient that reaches the residual directly
/// (or, with `first`, is only written). `d_weight` is fp32 [dim].
void rmsnorm_backward(OpContext& context, const Tensor& dy, const Tensor& x, const Tensor& weight,
                      const float* inverse_rms, const Tensor& dh, bool first, const Tensor& d_weight, bool accumulate,
                      const StatsOut& stats, const Float8Out& float8 = {});

}  // namespace octet
