#include "kernels/cross_entropy.h"

#include <cmath>
#include <limits>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/parts/blocks.h"
#include "kernels/cpu/parts/exp.h"
#include "kernels/cpu/parts/lanes.h"
#include "kernels/cpu/parts/vector.h"

namespace octet::cpu {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// softmax(x) = exp(x - max) / sum. A NaN among the logits makes sum NaN and leaves max alone.
struct Softmax {
  float max;
  float sum;
};

/// Of nothing but -inf: {-inf, 0}, whose loss and gradient are NaN.
Softmax softmax_of(const float* x, std::int64_t vocab) {
  const float max = reduce_lanes(
      vocab, -infinity, [x](std::int64_t i) { return x[i]; }, [](float a, float b) { return b > a ? b : a; });
  const float base = max == -infinity ? 0.0f : max;
  return {max, sum_lanes<float>(vocab, [x, base](std::int64_t i) { return exp_f32(x[i] - base); })};
}

float loss_of(Softmax softmax, double at_target) {
  const double log_sum_exp = static_cast<double>(softmax.max) + std::log(static_cast<double>(softmax.sum));
  return static_cast<float>(log_sum_exp - at_target);
}

/// The target's column in the part of the vocabulary that begins with id `begin`, or -1.
std::int64_t column_of(std::int32_t target, std::int64_t begin, std::int64_t vocab) {
  const std::int64_t column = target - begin;
  return column >= 0 && column < vocab ? column : -1;
}

/// d may be x. `target`: a column, or -1 when it is in another part.
template <typename T>
void gradient_row(const float* x, Softmax softmax, std::int64_t target, float scale, T* d, std::int64_t vocab) {
  const float max = softmax.max, factor = scale / softmax.sum;
  const float kept = target < 0 ? 0.0f : x[target];  // before d overwrites x
#pragma omp simd
  for (std::int64_t i = 0; i < vocab; ++i) store(d[i], exp_f32(x[i] - max) * factor);
  if (target >= 0) d[target] = T((exp_f32(kept - max) / softmax.sum - 1.0f) * scale);
}

/// body(row, target, d) for each row that counts, d its gradient or null; zeros for the others.
template <typename T, typename Arguments, typename F>
void for_rows(const Arguments& args, F&& body) {
  for_blocks(args.rows, 1, [&](std::int64_t row, std::int64_t) {
    T* d = args.d_logits == nullptr ? nullptr : static_cast<T*>(args.d_logits) + row * args.vocab;
    const std::int32_t target = args.targets[row];
    if (target >= 0) return body(row, target, d);
    args.losses[row] = 0.0f;
    if (d != nullptr) std::fill_n(d, args.vocab, T(0.0f));
  });
}

template <typename T>
void rows(const CrossEntropy& args) {
  for_rows<T>(args, [&](std::int64_t row, std::int32_t target, T* d) {
    const float* x = args.logits + row * args.vocab;
    const Softmax softmax = softmax_of(x, args.vocab);
    args.losses[row] = loss_of(softmax, static_cast<double>(x[target]));
    if (d != nullptr) gradient_row(x, softmax, target, args.scale, d, args.vocab);
  });
}

/// The softmax over all parts.
Softmax join(const float* stats, int parts, std::int64_t rows) {
  Softmax whole{-infinity, 0.0f};
  for (int p = 0; p < parts; ++p) whole.max = std::max(whole.max, stats[p * 3 * rows]);
  const float base = whole.max == -infinity ? 0.0f : whole.max;
  for (int p = 0; p < parts; ++p) whole.sum += stats[(p * 3 + 1) * rows] * exp_f32(stats[p * 3 * rows] - base);
  return whole;
}

template <typename T>
void finish_rows(const CrossEntropyFinish& args) {
  for_rows<T>(args, [&](std::int64_t row, std::int32_t target, T* d) {
    const float* stats = args.stats + row;
    const Softmax softmax = join(stats, args.parts, args.rows);
    double at_target = 0;
    for (int p = 0; p < args.parts; ++p) at_target += static_cast<double>(stats[(p * 3 + 2) * args.rows]);
    args.losses[row] = loss_of(softmax, at_target);
    if (d == nullptr) return;
    const std::int64_t column = column_of(target, args.vocab_begin, args.vocab);
    gradient_row(args.logits + row * args.vocab, softmax, column, args.scale, d, args.vocab);
  });
}

}  // namespace

void cross_entropy(Stream&, const CrossEntropy& args) {
  dispatch_storage(args.d_dtype, [&]<typename T>(T) { rows<T>(args); });
}

void cross_entropy_stats(Stream&, const CrossEntropyStats& args) {
  for_blocks(args.rows, 1, [&](std::int64_t row, std::int64_t) {
    const float* x = args.logits + row * args.vocab;
    const std::int32_t target = args.targets[row];
    const std::int64_t column = column_of(target, args.vocab_begin, args.vocab);
    const Softmax softmax = target < 0 ? Softmax{0.0f, 0.0f} : softmax_of(x, args.vocab);
    args.stats[row] = softmax.max;
    args.stats[args.rows + row] = softmax.sum;
    args.stats[2 * args.rows + row] = column < 0 ? 0.0f : x[column];
  });
}

void cross_entropy_finish(Stream&, const CrossEntropyFinish& args) {
  dispatch_storage(args.d_dtype, [&]<typename T>(T) { finish_rows<T>(args); });
}

}  // namespace octet::cpu
