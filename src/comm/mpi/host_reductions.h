#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>

#include "src/base/dtype.h"
#include "src/comm/communicator.h"

namespace octet {

/// out[i] = from[0][i] + from[1][i] + …, folded from the left: the order that makes sums the same bits for any MPI,
/// message timing and number of threads. `out` may be one of `from` (the same address), but must not overlap them
/// otherwise.
void sum_in_rank_order(std::span<const float* const> from, float* out, std::int64_t count);

/// What MPI_Iallreduce takes for a reduction of which is_exact() (rank_order.h) is true. Sums of integers wrap; in a
/// maximum a NaN wins. Main thread, with MPI up.
struct ExactReduction {
  MPI_Datatype type;
  MPI_Op op;
};
ExactReduction exact_reduction(DType dtype, ReduceOp op);

}  // namespace octet
