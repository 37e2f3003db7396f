#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace octet::cuda {

/// Ids [begin, begin + count): the rows of a table.
struct TokenRange {
  std::int32_t begin = 0;
  std::int32_t count = 0;

  /// The row of a token, or `count` for one outside: negative differences are large unsigned ones.
  __device__ std::int32_t row(std::int32_t token) const {
    const auto row = static_cast<std::uint32_t>(token) - static_cast<std::uint32_t>(begin);
    return row < static_cast<std::uint32_t>(count) ? static_cast<std::int32_t>(row) : count;
  }
};

/// Positions 0 ... n-1 in the order of (row of tokens[position], position), so those outside the range last: a stable
/// radix sort by counting, 9 bits a pass (one pass for bytes, two for a vocabulary below 262,144). No float is involved
/// and no atomic decides an order. Moves about 5 · n ints a pass.
struct TokenSort {
  const std::int32_t* tokens = nullptr;  ///< [n]
  std::int64_t n = 0;                    ///< below 2^31
  TokenRange range;
  void* workspace = nullptr;  ///< token_sort_workspace(n) bytes, aligned to 16
};

/// Bytes.
std::int64_t token_sort_workspace(std::int64_t n);

/// Returns the sorted positions, [n] inside the workspace. n > 0.
const std::int32_t* sort_tokens(const TokenSort& args, cudaStream_t stream);

}  // namespace octet::cuda
