#pragma once

#include <cstdint>
#include <span>

#include "src/base/dtype.h"
#include "src/comm/communicator.h"

namespace octet {

/// out[i] = from[0][i] op from[1][i] op …, folded from the left: the order that makes sums the same bits for any MPI,
/// message timing and number of threads. f32 or i32 (whose sums wrap). A NaN wins a max. `out` may be one of `from`
/// (the same address), but must not overlap them otherwise.
void reduce_in_rank_order(std::span<const void* const> from, void* out, std::int64_t count, DType dtype, ReduceOp op);

}  // namespace octet
