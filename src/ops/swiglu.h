#pragma once

#include "src/ops/context.h"
#include "src/ops/produced.h"
#include "src/tensor/tensor.h"

namespace octet {

/// y = silu(gate) · up. All [n, columns] in one dtype.
void swiglu_forward(OpContext& op, const Tensor& gate, const Tensor& up, const Produced& y);

/// The gradients of gate and up, which may lie where these do, from dy. All [n, columns] in one dtype.
void swiglu_backward(OpContext& op, const Tensor& gate, const Tensor& up, const Tensor& dy, const Produced& d_gate,
                     const Produced& d_up);

}  // namespace octet
