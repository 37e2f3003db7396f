#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/parts/stats_fold.h"
#include "src/base/dtype.h"
#include "src/base/round_up.h"

/// What the element-wise and row-wise kernels share: storage types, and threads over blocks whose size does not depend
/// on the number of threads.
namespace octet::cpu {

/// Elements of a block of an element-wise kernel: small enough that its statistics are read from the L1 cache.
inline constexpr std::int64_t block_elements = 2048;
/// The same where an element costs next to nothing (conversions, a look at each): large enough to hide the loop. So
/// cheap are these that one thread takes the first two blocks alone sooner than it wakes the others.
inline constexpr std::int64_t conversion_block = 16384;
inline constexpr std::int64_t serial_conversion_blocks = 2;

/// Calls f with a value of the storage type, f32 or bf16: where a kernel turns a DType into a C++ type.
template <typename F>
void dispatch_storage(DType dtype, F&& f) {
  if (dtype == DType::f32) return f(float{});
  if (dtype == DType::bf16) return f(bf16{});
  throw internal_error("kernels", "dtype {}: expected f32 or bf16", name_of(dtype));
}

/// dispatch_storage for kernels that read float8 too.
template <typename F>
void dispatch_storage_or_float8(DType dtype, F&& f) {
  if (dtype == DType::e4m3) return f(e4m3{});
  if (dtype == DType::e5m2) return f(e5m2{});
  dispatch_storage(dtype, f);
}

/// body(begin, end) over the blocks of [0, n), on all threads; up to `serial` blocks on this one.
template <typename F>
void for_blocks(std::int64_t n, std::int64_t block, F&& body, std::int64_t serial = 1) {
  const std::int64_t blocks = ceil_div(n, block);
#pragma omp parallel for schedule(static) if (blocks > serial)
  for (std::int64_t b = 0; b < blocks; ++b) body(b * block, std::min(n, (b + 1) * block));
}

/// body(begin, end, fold) over the blocks of [0, n), as for_blocks; returns the merged statistics.
template <typename F>
StatsFold fold_blocks(std::int64_t n, std::int64_t block, F&& body, std::int64_t serial = 1) {
  const std::int64_t blocks = ceil_div(n, block);
  StatsFold fold;
#pragma omp parallel for schedule(static) reduction(stats : fold) if (blocks > serial)
  for (std::int64_t b = 0; b < blocks; ++b) body(b * block, std::min(n, (b + 1) * block), fold);
  return fold;
}

}  // namespace octet::cpu
