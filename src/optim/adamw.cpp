#include "src/optim/adamw.h"

#include <algorithm>
#include <cmath>

namespace octet {

bool decays(const OptimizerConfig& config, const std::string& parameter) {
  return std::none_of(config.no_decay.begin(), config.no_decay.end(),
                      [&](const std::string& part) { return parameter.find(part) != std::string::npos; });
}

void adamw_step(Stream& stream, const KernelTable& kernels, const OptimizerConfig& config, double lr, std::int64_t step,
                std::span<const OptimizerSlice> slices, const float* clip_factor, const std::uint32_t* skip,
                std::int64_t multiprocessors) {
  const auto bias = [&](double beta) { return 1.0 - std::pow(beta, static_cast<double>(step)); };
  const auto update_of = [&](const OptimizerSlice& s) -> AdamWUpdate {
    return {.parameter = s.parameter,
            .first_moment = s.first_moment,
            .second_moment = s.second_moment,
            .gradient = s.gradient,
            .gradient_dtype = s.gradient_dtype,
            .n = s.n,
            .lr = lr,
            .beta1 = config.beta1,
            .beta2 = config.beta2,
            .eps = config.eps,
            .weight_decay = s.decay ? config.weight_decay : 0.0,
            .bias1 = bias(config.beta1),
            .bias2 = bias(config.beta2),
            .gradient_scale = clip_factor,
            .skip = skip,
            .rounded = s.rounded,
            .float8 = s.float8,
            .prediction = s.prediction,
            .stats = {.amax = s.amax, .non_finite = nullptr},
            .multiprocessors = multiprocessors};
  };
  while (!slices.empty()) {
    const auto together = slices.first(std::min(slices.size(), AdamWUpdates::most));
    AdamWUpdates updates;
    for (const OptimizerSlice& s : together) updates.add(update_of(s));
    const auto predicted = [](const OptimizerSlice& s) { return s.prediction.leader != nullptr; };
    if (std::ranges::any_of(together, predicted)) kernels.predict_scales(stream, {updates});
    kernels.adamw(stream, updates);
    slices = slices.subspan(together.size());
  }
}

}  // namespace octet
