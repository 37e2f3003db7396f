#include "kernels/adamw.h"

#include <cmath>

#include "kernels/cpu/blocks.h"
#include "kernels/cpu/cpu_kernels.h"

namespace octet::cpu {
namespace {

/// The factors of one step, formed in double and rounded once, as torch's scalar arguments are.
struct Factors {
  float gradient, decay, first, beta2, second, step, root_bias2, eps;
};

Factors factors_of(const AdamWUpdate& args) {
  return {.gradient = args.gradient_scale == nullptr ? 1.0f : *args.gradient_scale,
          .decay = static_cast<float>(1.0 - args.lr * args.weight_decay),
          .first = static_cast<float>(1.0 - args.beta1),
          .beta2 = static_cast<float>(args.beta2),
          .second = static_cast<float>(1.0 - args.beta2),
          .step = static_cast<float>(args.lr / args.bias1),
          .root_bias2 = static_cast<float>(std::sqrt(args.bias2)),
          .eps = static_cast<float>(args.eps)};
}

void update_block(float* parameter, float* first, float* second, const float* gradient, std::int64_t n, Factors by) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = gradient[i] * by.gradient;
    const float m = first[i] + by.first * (g - first[i]);
    const float v = second[i] * by.beta2 + by.second * g * g;
    first[i] = m;
    second[i] = v;
    parameter[i] = parameter[i] * by.decay - by.step * m / (std::sqrt(v) / by.root_bias2 + by.eps);
  }
}

}  // namespace

void adamw(Stream&, const AdamWUpdate& args) {
  if (args.skip != nullptr && *args.skip != 0) return;
  const Factors by = factors_of(args);
  const bool amax = args.stats.amax != nullptr;
  const auto fold = fold_blocks(args.n, block_elements, [&](std::int64_t begin, std::int64_t end, StatsFold& f) {
    update_block(args.parameter + begin, args.first_moment + begin, args.second_moment + begin, args.gradient + begin,
                 end - begin, by);
    if (amax) f.add(args.parameter + begin, end - begin);
  });
  fold.publish({.amax = args.stats.amax});
}

}  // namespace octet::cpu
