#pragma once

#include <cstdint>

#include "kernels/cuda/host/cublas_lt.h"

namespace octet::bench {

/// What is asked of cuBLASLt in another way than GemmPlans asks it; by default nothing.
struct LibraryChange {
  std::uint32_t least_alignment = 0;  ///< of all matrices, promised in place of what the pointers have
  bool workspace_alone = false;       ///< no preference but the workspace's size, as PyTorch's
  void* workspace = nullptr;          ///< in place of the GEMM's own
  std::uint64_t workspace_bytes = 0;
  bool other_c = false;     ///< C is `c` in place of D, and null where that is
  const void* c = nullptr;  ///< as large as D
};

/// The library's functions, but with the change in force: so that a way of multiplying is the code of a run and differs
/// from it in the one thing. For one thread, and one library in a process: functions have no room for more.
cuda::CublasLt changed(const cuda::CublasLt& library);
void put_in_force(const LibraryChange& change);

}  // namespace octet::bench
