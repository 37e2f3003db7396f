#include "src/model/rope_scaling.h"

#include <cmath>
#include <numbers>

namespace octet {
namespace {

double scaled(double frequency, const RopeScaling& by) {
  const double turns = static_cast<double>(by.original_positions) * frequency / (2 * std::numbers::pi);
  if (turns < by.low_freq_factor) return frequency / by.factor;
  if (turns > by.high_freq_factor) return frequency;
  const double s = (turns - by.low_freq_factor) / (by.high_freq_factor - by.low_freq_factor);
  return (1 - s) * frequency / by.factor + s * frequency;
}

}  // namespace

std::vector<double> rope_frequencies(std::int64_t head_dim, double theta, const RopeScaling& scaling) {
  std::vector<double> frequencies;
  frequencies.reserve(static_cast<std::size_t>(head_dim / 2));
  for (std::int64_t i = 0; i < head_dim / 2; ++i) {
    const double frequency = std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(head_dim));
    frequencies.push_back(scaling.kind == RopeScalingKind::llama3 ? scaled(frequency, scaling) : frequency);
  }
  return frequencies;
}

}  // namespace octet
