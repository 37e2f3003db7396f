#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace octet::cuda {

/// Positions 0 ... n-1 in the order of (tokens[position], position): a stable radix sort by counting, 9 bits a pass
/// (one pass for bytes, two for a vocabulary up to 262,144). No float is involved and no atomic decides an order.
/// Moves about 5 · n ints a pass.
struct TokenSort {
  const std::int32_t* tokens = nullptr;  ///< [n], in [0, vocab)
  std::int64_t n = 0;                    ///< below 2^31
  std::int64_t vocab = 0;
  void* workspace = nullptr;  ///< token_sort_workspace(n) bytes, aligned to 16
};

/// Bytes.
std::int64_t token_sort_workspace(std::int64_t n);

/// Returns the sorted positions, [n] inside the workspace. n > 0.
const std::int32_t* sort_tokens(const TokenSort& args, cudaStream_t stream);

}  // namespace octet::cuda
