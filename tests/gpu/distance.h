#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace octet::gpu_test {

/// ‖gpu - cpu‖₂ / ‖cpu‖₂ over the finite elements, ‖gpu‖₂ where those of the CPU are zero. What is not finite must be
/// the same on both, NaN or an infinity of the same sign: else the distance is infinite, and no tolerance lets it pass.
template <typename T>
double distance(const std::vector<T>& gpu, const std::vector<T>& cpu) {
  if (gpu.size() != cpu.size()) return HUGE_VAL;
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    const double a = static_cast<float>(gpu[i]), b = static_cast<float>(cpu[i]);
    if (a == b || (std::isnan(a) && std::isnan(b))) {
      norm += std::isfinite(b) ? b * b : 0;
      continue;
    }
    if (!std::isfinite(a) || !std::isfinite(b)) return HUGE_VAL;
    difference += (a - b) * (a - b);
    norm += b * b;
  }
  return norm == 0 ? std::sqrt(difference) : std::sqrt(difference / norm);
}

}  // namespace octet::gpu_test
