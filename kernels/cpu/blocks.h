#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/stats_fold.h"
#include "src/base/dtype.h"

/// What the element-wise and row-wise kernels share: storage types, and threads over blocks whose size does not depend
/// on the number of threads.
namespace octet::cpu {

/// Elements of a block of an element-wise kernel: small enough that its statistics are read from the L1 cache.
inline constexpr std::int64_t block_elements = 2048;

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Calls f with a value of the storage type: the one place where a kernel turns a DType into a C++ type.
template <typename F>
void dispatch_storage(DType dtype, F&& f) {
  if (dtype == DType::f32) return f(float{});
  if (dtype == DType::bf16) return f(bf16{});
  throw internal_error("kernels", "dtype {}: expected f32 or bf16", name_of(dtype));
}

/// y = x rounded to the storage type. For bf16 the bits are assigned, not the object: gcc copies objects through memory
/// and then does not vectorise the loop.
inline void store(float& y, float x) {
  y = x;
}
inline void store(bf16& y, float x) {
  y.bits = bf16::encode(x);
}

/// body(begin, end) over the blocks of [0, n), on all threads.
template <typename F>
void for_blocks(std::int64_t n, std::int64_t block, F&& body) {
  const std::int64_t blocks = ceil_div(n, block);
#pragma omp parallel for schedule(static) if (blocks > 1)
  for (std::int64_t b = 0; b < blocks; ++b) body(b * block, std::min(n, (b + 1) * block));
}

/// body(begin, end, fold) over the blocks of [0, n), on all threads; returns the merged statistics.
template <typename F>
StatsFold fold_blocks(std::int64_t n, std::int64_t block, F&& body) {
  const std::int64_t blocks = ceil_div(n, block);
  StatsFold fold;
#pragma omp parallel for schedule(static) reduction(stats : fold) if (blocks > 1)
  for (std::int64_t b = 0; b < blocks; ++b) body(b * block, std::min(n, (b + 1) * block), fold);
  return fold;
}

}  // namespace octet::cpu
