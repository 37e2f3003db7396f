#pragma once

#include <cstdint>

#include "src/ops/context.h"
#include "src/tensor/tensor.h"

namespace octet {

/// out[i] = table[ids[i] - begin], and zeros where the table [rows, dim] does not hold that row: a rank's part of the
/// vocabulary begins with the id `begin`. `ids` [n] on the device; out [n, dim] in the table's dtype.
void embedding_forward(OpContext& op, const std::int32_t* ids, const Tensor& table, std::int64_t begin,
                       const Tensor& out);

/// d_table[ids[i] - begin] += d_out[i], in the order of i. d_out [n, dim]; d_table [rows, dim] fp32.
void embedding_backward(OpContext& op, const std::int32_t* ids, const Tensor& d_out, std::int64_t begin,
                        const GradientTarget& d_table);

}  // namespace octet
