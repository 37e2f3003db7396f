#pragma once

#include <cstdint>

#include "src/ops/context.h"
#include "src/tensor/tensor.h"

namespace octet {

/// *total += the sum of x [n], summed in double over fixed blocks. All fp32 on the device.
void add_sum(OpContext& op, const float* x, std::int64_t n, float* total);

/// Leaves a gradient that was made elsewhere in its target: both fp32 of one shape.
void leave_gradient(OpContext& op, const Tensor& gradient, const GradientTarget& target);

}  // namespace octet
