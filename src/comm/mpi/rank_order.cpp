#include "src/comm/mpi/rank_order.h"

#include <algorithm>
#include <array>

#include "src/base/error.h"

namespace octet {
namespace {

struct Sum {
  static float apply(float a, float b) { return a + b; }
  static std::int32_t apply(std::int32_t a, std::int32_t b) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
  }
};

struct Max {
  static float apply(float a, float b) { return (a > b || a != a) ? a : b; }
  static std::int32_t apply(std::int32_t a, std::int32_t b) { return std::max(a, b); }
};

constexpr std::int64_t block = 1024;             // elements; the accumulator stays in the first-level cache
constexpr std::int64_t parallel_from = 1 << 17;  // elements; below, waking the threads costs more than the sum

template <typename T, typename Op>
void reduce_block(std::span<const void* const> from, T* out, std::int64_t begin, std::int64_t n) {
  std::array<T, block> sum;  // of our own, so that `out` may be one of the inputs
  const T* first = static_cast<const T*>(from[0]) + begin;
  std::copy(first, first + n, sum.begin());
  for (const void* other : from.subspan(1)) {
    const T* x = static_cast<const T*>(other) + begin;
    for (std::int64_t i = 0; i < n; ++i) {
      T& s = sum[static_cast<std::size_t>(i)];
      s = Op::apply(s, x[i]);
    }
  }
  std::copy(sum.begin(), sum.begin() + n, out + begin);
}

template <typename T, typename Op>
void reduce(std::span<const void* const> from, void* out, std::int64_t count) {
  const std::int64_t blocks = (count + block - 1) / block;
#pragma omp parallel for schedule(static) if (count >= parallel_from)
  for (std::int64_t b = 0; b < blocks; ++b) {
    reduce_block<T, Op>(from, static_cast<T*>(out), b * block, std::min(block, count - b * block));
  }
}

}  // namespace

void reduce_in_rank_order(std::span<const void* const> from, void* out, std::int64_t count, DType dtype, ReduceOp op) {
  if (dtype == DType::f32) {
    op == ReduceOp::sum ? reduce<float, Sum>(from, out, count) : reduce<float, Max>(from, out, count);
  } else if (dtype == DType::i32) {
    op == ReduceOp::sum ? reduce<std::int32_t, Sum>(from, out, count) : reduce<std::int32_t, Max>(from, out, count);
  } else {
    throw internal_error("comm", "reduction of {}", name_of(dtype));
  }
}

}  // namespace octet
