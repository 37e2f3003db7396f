#include "kernels/adamw.h"

#include <cmath>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/parts/blocks.h"
#include "kernels/cpu/parts/vector.h"

namespace octet::cpu {
namespace {

template <typename G>
void update_block(float* parameter, float* first, float* second, const G* gradient, std::int64_t n,
                  float gradient_scale, AdamWFactors by) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = static_cast<float>(gradient[i]) * gradient_scale;
    const float m = first[i] + by.first * (g - first[i]);
    const float v = second[i] * by.beta2 + by.second * g * g;
    first[i] = m;
    second[i] = v;
    parameter[i] = parameter[i] * by.decay - by.step * m / (std::sqrt(v) / by.root_bias2 + by.eps);
  }
}

void update(const AdamWUpdate& args) {
  const bool skips = args.skip != nullptr && *args.skip != 0;
  const AdamWFactors by = factors_of(args);
  const float gradient_scale = args.gradient_scale == nullptr ? 1.0f : *args.gradient_scale;
  const bool amax = args.stats.amax != nullptr;
  if (skips && !amax) return;
  const auto fold = fold_blocks(args.n, block_elements, [&](std::int64_t begin, std::int64_t end, StatsFold& f) {
    if (!skips) {
      dispatch_storage(args.gradient_dtype, [&]<typename G>(G) {
        update_block(args.parameter + begin, args.first_moment + begin, args.second_moment + begin,
                     static_cast<const G*>(args.gradient) + begin, end - begin, gradient_scale, by);
      });
      if (args.rounded != nullptr) {
        convert_loop(args.parameter + begin, static_cast<bf16*>(args.rounded) + begin, end - begin);
      }
    }
    if (amax) f.add(args.parameter + begin, end - begin);
  });
  fold.publish({.amax = args.stats.amax});
}

}  // namespace

void adamw(Stream&, const AdamWUpdates& args) {
  for (const AdamWUpdate& one : args.all()) update(one);
}

}  // namespace octet::cpu
