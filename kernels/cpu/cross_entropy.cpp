#include "kernels/cross_entropy.h"

#include <cmath>
#include <limits>

#include "kernels/cpu/blocks.h"
#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/exp.h"
#include "kernels/cpu/lanes.h"
#include "kernels/cpu/vector.h"

namespace octet::cpu {
namespace {

/// softmax(x) = exp(x - max) / sum. A NaN among the logits makes sum NaN.
struct Softmax {
  float max;
  float sum;
};

Softmax softmax_of(const float* x, std::int64_t vocab) {
  const float max = reduce_lanes(
      vocab, -std::numeric_limits<float>::infinity(), [x](std::int64_t i) { return x[i]; },
      [](float a, float b) { return a > b ? a : b; });
  return {max, sum_lanes<float>(vocab, [x, max](std::int64_t i) { return exp_f32(x[i] - max); })};
}

template <typename T>
void gradient_row(const float* x, Softmax softmax, std::int32_t target, float scale, T* d, std::int64_t vocab) {
  const float max = softmax.max, factor = scale / softmax.sum;
  const float at_target = (exp_f32(x[target] - max) / softmax.sum - 1.0f) * scale;  // before d overwrites x
#pragma omp simd
  for (std::int64_t i = 0; i < vocab; ++i) store(d[i], exp_f32(x[i] - max) * factor);
  d[target] = T(at_target);
}

template <typename T>
void rows(const CrossEntropy& args) {
  for_blocks(args.rows, 1, [&](std::int64_t row, std::int64_t) {
    const float* x = args.logits + row * args.vocab;
    T* d = args.d_logits == nullptr ? nullptr : static_cast<T*>(args.d_logits) + row * args.vocab;
    const std::int32_t target = args.targets[row];
    if (target < 0) {
      args.losses[row] = 0.0f;
      if (d != nullptr) std::fill_n(d, args.vocab, T(0.0f));
      return;
    }
    const Softmax softmax = softmax_of(x, args.vocab);
    const double log_sum_exp = static_cast<double>(softmax.max) + std::log(static_cast<double>(softmax.sum));
    args.losses[row] = static_cast<float>(log_sum_exp - static_cast<double>(x[target]));
    if (d != nullptr) gradient_row(x, softmax, target, args.scale, d, args.vocab);
  });
}

}  // namespace

void cross_entropy(Stream&, const CrossEntropy& args) {
  dispatch_storage(args.d_dtype, [&]<typename T>(T) { rows<T>(args); });
}

}  // namespace octet::cpu
