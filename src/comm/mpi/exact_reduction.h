#pragma once

#include <mpi.h>

#include <cstdint>

#include "src/base/dtype.h"
#include "src/comm/communicator.h"

namespace octet {

/// Whether the result has the same bits whatever the order, so that MPI may form it by tree or ring: a rank then has
/// about log2(ranks) partners, where an order of our own takes all others. Sums and maxima of i32, maxima of fp32.
bool is_exact(DType dtype, ReduceOp op);

/// What MPI_Iallreduce takes of such a reduction. Sums of integers wrap; in a maximum a NaN wins. Main thread, with MPI
/// up.
struct ExactReduction {
  MPI_Datatype type;
  MPI_Op op;
};
ExactReduction exact_reduction(DType dtype, ReduceOp op);

}  // namespace octet
