#include "src/tuning/robust.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace octet {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double low_quantile(std::vector<double> values, double part) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

double robust_scale(const std::vector<double>& residuals, int parameters) {
  std::vector<double> sizes(residuals.size());
  std::transform(residuals.begin(), residuals.end(), sizes.begin(), [](double r) { return std::abs(r); });
  const double freedom = std::max<double>(static_cast<double>(residuals.size()) - parameters, 1);
  return 1.4826 * (1 + 5 / freedom) * median(std::move(sizes));
}

double tukey_weight(double standardised) {
  const double u = standardised / 4.685;
  const double inside = 1 - u * u;
  return inside <= 0 ? 0 : inside * inside;
}

double student_95(double freedom) {
  constexpr std::array<double, 5> few{12.706, 4.303, 3.182, 2.776, 2.571};
  if (freedom < 5.5) return few.at(static_cast<std::size_t>(std::lround(std::max(freedom, 1.0))) - 1);
  // Cornish and Fisher's expansion around the normal quantile.
  constexpr double z = 1.959964;
  const double first = (std::pow(z, 3) + z) / 4;
  const double second = (5 * std::pow(z, 5) + 16 * std::pow(z, 3) + 3 * z) / 96;
  const double third = (3 * std::pow(z, 7) + 19 * std::pow(z, 5) + 17 * std::pow(z, 3) - 15 * z) / 384;
  return z + (first + (second + third / freedom) / freedom) / freedom;
}

}  // namespace octet
