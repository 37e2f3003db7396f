#include "src/tuning/fit/alpha_beta.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "src/tuning/robust.h"

namespace octet {
namespace {

constexpr int parameters = 2;
constexpr std::size_t least_rows = 5;
constexpr std::size_t least_sizes = 3;
constexpr std::int64_t least_span = 4;     // largest size over smallest
constexpr std::size_t most_starts = 1000;  // pairs tried; of more a sample
constexpr double least_scale = 1e-4;       // below what any clock resolves; exact points have no scale
constexpr int most_rounds = 200;
constexpr double agreement = 5;      // spread of rows of one size over the noise: 99.9 % of two rows are within 4.7
constexpr double converged = 1e-10;  // relative change of both

/// alpha in us, slope in us a byte.
struct Line {
  double alpha = 0, slope = 0;
  double at(double bytes) const { return alpha + slope * bytes; }
};

std::vector<double> residuals(const std::vector<FitPoint>& points, const Line& line) {
  std::vector<double> all;
  all.reserve(points.size());
  for (const FitPoint& p : points) all.push_back(std::log(p.microseconds / line.at(static_cast<double>(p.bytes))));
  return all;
}

double median_size(std::vector<double> values) {
  for (double& v : values) v = std::abs(v);
  return median(std::move(values));
}

/// Two lines that a pair of points suggests: through both, and a latency from the smaller with a rate from the larger.
std::vector<Line> lines_of(const FitPoint& small, const FitPoint& large) {
  const auto x0 = static_cast<double>(small.bytes), x1 = static_cast<double>(large.bytes);
  const double slope = (large.microseconds - small.microseconds) / (x1 - x0);
  std::vector<Line> lines{{small.microseconds, large.microseconds / x1}};
  if (slope > 0 && small.microseconds > slope * x0) lines.push_back({small.microseconds - slope * x0, slope});
  return lines;
}

/// One of `stride` in no order that rows could have too: the upper bits of Fibonacci hashing.
bool sampled(std::size_t pair, std::size_t stride) {
  return (pair * 0x9e3779b97f4a7c15ULL >> 32) % stride == 0;
}

Line start(const std::vector<FitPoint>& points) {
  const std::size_t n = points.size();
  const std::size_t stride = std::max<std::size_t>(1, n * (n - 1) / 2 / most_starts);
  Line best;
  double least = std::numeric_limits<double>::infinity();
  std::size_t pair = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      if (points[i].bytes == points[j].bytes || !sampled(pair++, stride)) continue;
      const bool ordered = points[i].bytes < points[j].bytes;
      for (const Line& line : lines_of(points[ordered ? i : j], points[ordered ? j : i])) {
        if (const double size = median_size(residuals(points, line)); size < least) {
          least = size;
          best = line;
        }
      }
    }
  }
  return best;
}

/// The 2 x 2 normal equations of log(measured / fitted) in alpha and slope, each relative to its value.
struct Normal {
  double aa = 0, as = 0, ss = 0, ar = 0, sr = 0;
  double determinant() const { return aa * ss - as * as; }
};

Normal normal_equations(const std::vector<FitPoint>& points, const Line& line, const std::vector<double>& weights,
                        const std::vector<double>& residual) {
  Normal sum;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double total = line.at(static_cast<double>(points[i].bytes));
    const double a = line.alpha / total, s = 1 - a;  // derivatives of log(fitted)
    sum.aa += weights[i] * a * a;
    sum.as += weights[i] * a * s;
    sum.ss += weights[i] * s * s;
    sum.ar += weights[i] * a * residual[i];
    sum.sr += weights[i] * s * residual[i];
  }
  return sum;
}

std::vector<double> weights_of(const std::vector<double>& residual, double scale) {
  std::vector<double> weights;
  weights.reserve(residual.size());
  for (const double r : residual) weights.push_back(tukey_weight(r / scale));
  return weights;
}

/// One step of Gauss and Newton. Neither may leave what is positive nor move by more than a factor of 2 at once.
Line step(const Line& line, const Normal& n) {
  const double determinant = n.determinant();
  if (determinant <= 1e-14 * n.aa * n.ss) return line;
  const double alpha = (n.ss * n.ar - n.as * n.sr) / determinant;
  const double slope = (n.aa * n.sr - n.as * n.ar) / determinant;
  return {line.alpha * (1 + std::clamp(alpha, -0.5, 1.0)), line.slope * (1 + std::clamp(slope, -0.5, 1.0))};
}

double scale_of(const std::vector<double>& residual) {
  return std::max(robust_scale(residual, parameters), least_scale);
}

Line refine(const std::vector<FitPoint>& points, Line line) {
  double scale = scale_of(residuals(points, line));
  for (int round = 0; round < most_rounds; ++round) {
    const std::vector<double> residual = residuals(points, line);
    // The scale may only shrink: a start that half of the rows agree on cannot take the others in again.
    scale = std::min(scale, scale_of(residual));
    const Line next = step(line, normal_equations(points, line, weights_of(residual, scale), residual));
    const bool done =
        std::abs(next.alpha / line.alpha - 1) < converged && std::abs(next.slope / line.slope - 1) < converged;
    line = next;
    if (done || line.alpha < 1e-9) break;
  }
  return line;
}

/// Relative standard error of a parameter; infinite where the rows do not determine it.
double relative_error(double own, double determinant, double noise) {
  return determinant <= 0 ? std::numeric_limits<double>::infinity() : noise * std::sqrt(own / determinant);
}

/// See AlphaBeta::misfit. Of a size with one row nothing can be told: it may be an outlier.
double misfit_of(const std::vector<FitPoint>& points, const std::vector<double>& residual, double noise) {
  std::map<std::int64_t, std::vector<double>> by_size;
  for (std::size_t i = 0; i < points.size(); ++i) by_size[points[i].bytes].push_back(residual[i]);
  double sum = 0;
  int sizes = 0;
  for (auto& [bytes, own] : by_size) {
    if (own.size() < 2 || !rows_agree(own, noise)) continue;
    const double by_noise = noise * noise / static_cast<double>(own.size());
    sum += std::pow(median(std::move(own)), 2) - by_noise;
    ++sizes;
  }
  return sizes == 0 ? 0 : std::sqrt(std::max(0.0, sum / sizes));
}

}  // namespace

bool rows_agree(const std::vector<double>& logarithms, double noise) {
  const auto [least, most] = std::minmax_element(logarithms.begin(), logarithms.end());
  return *most - *least <= agreement * noise;
}

std::string why_no_fit(const std::vector<FitPoint>& points) {
  std::set<std::int64_t> sizes;
  for (const FitPoint& p : points) sizes.insert(p.bytes);
  if (points.size() < least_rows) return fmt::format("{} rows; needs {}", points.size(), least_rows);
  if (sizes.size() < least_sizes) return fmt::format("{} sizes; needs {}", sizes.size(), least_sizes);
  if (*sizes.rbegin() < least_span * *sizes.begin()) {
    return fmt::format("sizes of {} to {} bytes; needs a span of {} times", *sizes.begin(), *sizes.rbegin(),
                       least_span);
  }
  return "";
}

AlphaBeta fit_alpha_beta(const std::vector<FitPoint>& points) {
  const Line line = refine(points, start(points));
  const std::vector<double> residual = residuals(points, line);
  const std::vector<double> weights = weights_of(residual, scale_of(residual));
  AlphaBeta fit;
  std::vector<double> kept;
  fit.bytes_from = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (weights[i] == 0) {
      fit.left_out.push_back(i);
      continue;
    }
    kept.push_back(residual[i]);
    fit.bytes_from = std::min(fit.bytes_from, points[i].bytes);
    fit.bytes_to = std::max(fit.bytes_to, points[i].bytes);
  }
  fit.rows = static_cast<int>(kept.size());
  fit.noise = robust_scale(kept, parameters);
  fit.misfit = misfit_of(points, residual, fit.noise);
  const Normal n = normal_equations(points, line, weights, residual);
  fit.alpha_us = line.alpha;
  fit.beta_gbs = 1 / (1e3 * line.slope);
  fit.alpha_error_us = fit.alpha_us * relative_error(n.ss, n.determinant(), fit.noise);
  fit.beta_error_gbs = fit.beta_gbs * relative_error(n.aa, n.determinant(), fit.noise);
  return fit;
}

}  // namespace octet
