#include "kernels/reduce.h"

#include <cmath>
#include <vector>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/parts/blocks.h"
#include "kernels/cpu/parts/lanes.h"

namespace octet::cpu {
namespace {

constexpr std::int64_t sum_block = 1 << 16;

/// Sum of the blocks' sums in block order; sum_of(begin, n) may run on any thread.
template <typename F>
double sum_blocks(std::int64_t n, F&& sum_of) {
  std::vector<double> partial(static_cast<std::size_t>(ceil_div(n, sum_block)));
  for_blocks(n, sum_block, [&](std::int64_t begin, std::int64_t end) {
    partial[static_cast<std::size_t>(begin / sum_block)] = sum_of(begin, end - begin);
  });
  double total = 0;
  for (const double p : partial) total += p;
  return total;
}

double sum_of(const float* x, std::int64_t n) {
  return sum_lanes<double>(n, [x](std::int64_t i) { return static_cast<double>(x[i]); });
}

template <typename X>
double squares_of(const X* x, std::int64_t n) {
  return sum_lanes<double>(n, [x](std::int64_t i) {
    const double v = static_cast<double>(static_cast<float>(x[i]));
    return v * v;
  });
}

}  // namespace

void sum(Stream&, const Sum& args) {
  *args.out = static_cast<float>(
      sum_blocks(args.n, [&](std::int64_t begin, std::int64_t n) { return sum_of(args.x + begin, n); }));
}

void sum_of_squares(Stream&, const SumOfSquares& args) {
  dispatch_storage(args.dtype, [&]<typename X>(X) {
    const X* x = static_cast<const X*>(args.x);
    *args.out = static_cast<float>(
        sum_blocks(args.n, [&](std::int64_t begin, std::int64_t n) { return squares_of(x + begin, n); }));
    if (args.non_finite == nullptr || std::isfinite(*args.out)) return;
    // Only a sum that is not finite can hide such elements: the pass that counts them is rarely paid.
    const auto fold = fold_blocks(args.n, block_elements, [&](std::int64_t begin, std::int64_t end, StatsFold& f) {
      f.add(x + begin, end - begin);
    });
    fold.publish({.amax = nullptr, .non_finite = args.non_finite});
  });
}

std::int64_t sum_of_squares_workspace(const SumOfSquares&) {
  return 0;
}

void accumulate(Stream&, const Accumulate& args) {
  for_blocks(args.n, block_elements, [&](std::int64_t begin, std::int64_t end) {
    const float* x = args.x;
    float* y = args.y;
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) y[i] += x[i];
  });
}

void clip_factor(Stream&, const ClipFactor& args) {
  const float norm = std::sqrt(*args.sum_of_squares);
  const float wanted = args.max_norm / (norm + 1e-6f);
  *args.norm = norm;
  *args.factor = args.max_norm == 0.0f || !(wanted < 1.0f) ? 1.0f : wanted;
  if (!std::isfinite(norm)) *args.skip = 1;
}

}  // namespace octet::cpu
