#include "src/comm/mpi/rank_order.h"

#include <algorithm>
#include <array>

namespace octet {
namespace {

constexpr std::int64_t block = 1024;             // elements; the accumulator stays in the first-level cache
constexpr std::int64_t parallel_from = 1 << 17;  // elements; below, waking the threads costs more than the sum

void sum_block(std::span<const float* const> from, float* out, std::int64_t begin, std::int64_t n) {
  std::array<float, block> sum;  // of our own, so that `out` may be one of the inputs
  std::copy_n(from[0] + begin, n, sum.begin());
  for (const float* other : from.subspan(1)) {
    const float* x = other + begin;
    for (std::int64_t i = 0; i < n; ++i) sum[static_cast<std::size_t>(i)] += x[i];
  }
  std::copy_n(sum.begin(), n, out + begin);
}

}  // namespace

void sum_in_rank_order(std::span<const float* const> from, float* out, std::int64_t count) {
  const std::int64_t blocks = (count + block - 1) / block;
#pragma omp parallel for schedule(static) if (count >= parallel_from)
  for (std::int64_t b = 0; b < blocks; ++b) {
    sum_block(from, out, b * block, std::min(block, count - b * block));
  }
}

}  // namespace octet
