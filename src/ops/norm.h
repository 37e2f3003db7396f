#pragma once

#include "src/ops/context.h"
#include "src/ops/produced.h"
#include "src/tensor/tensor.h"

namespace octet {

/// sum = residual + branch (branch of rank 0 or without data: sum is residual itself, and not written),
/// y = rmsnorm(sum) · weight. All [n, dim] in one dtype, weight [dim], inverse_rms [n] fp32 kept for backward. y has no
/// transposed fp8 form.
void add_rmsnorm(OpContext& op, const Tensor& residual, const Tensor& branch, const Tensor& weight, float eps,
                 const Tensor& sum, const Produced& y, float* inverse_rms);

/// What backward reads of a norm that was made.
struct Normed {
  Tensor x;                            ///< [n, dim], the forward's sum
  Tensor weight;                       ///< [dim]
  const float* inverse_rms = nullptr;  ///< [n]
};

/// Whether a gradient reaches the norm's input beside the norm.
enum class ResidualGradient { none, in_dh };

/// dh = gradient of the norm's input. With ResidualGradient::in_dh it is added to what dh holds, the gradient that
/// reaches the residual stream directly; with `none` dh is overwritten. `d_weight` is fp32 [dim]. dh has no transposed
/// fp8 form.
void rmsnorm_backward(OpContext& op, const Tensor& dy, const Normed& normed, ResidualGradient residual,
                      const Produced& dh, const GradientTarget& d_weight);

}  // namespace octet
