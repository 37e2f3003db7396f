#pragma once

#include "src/ops/recipe.h"

namespace octet {

/// The three GEMMs of a linear, on operands as its recipe has them read: x [n, in], w [out, in], dy [n, out]. fp8
/// operands of gradients are transposed copies where kernels read along k only. Shapes and formats are checked; a
/// mismatch is an internal error with the numbers, as is a transposed copy that is missing.
///   forward       y = x wᵀ                [n, out]
///   grad_input    dx (+)= dy w            [n, in]
///   grad_weight   dw (+)= dyᵀ x           [out, in], fp32, or bf16 where nothing is added to
void linear_forward(OpContext& op, const LinearRecipe& linear, const Tensor& x, const Tensor& w, const Tensor& y);
void linear_grad_input(OpContext& op, const LinearRecipe& linear, const Tensor& dy, const Tensor& w, const Tensor& dx,
                       bool accumulate);
void linear_grad_weight(OpContext& op, const LinearRecipe& linear, const Tensor& dy, const Tensor& x, const Tensor& dw,
                        bool accumulate);

}  // namespace octet
