#include "src/tuning/fit/size_scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace octet {
namespace {

constexpr double least_error = 0.005;  // relative; lines of few exact rows must not outweigh all others
constexpr double significant = 2;      // standard errors

struct TrendPoint {
  double x = 0, value = 0, error = 0;
};

/// Weighted least squares; where the points scatter more than their errors say, the errors are taken to be larger.
NodeTrend trend_of(const std::vector<TrendPoint>& points, bool with_slope) {
  double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0;
  for (const TrendPoint& p : points) {
    const double weight = 1 / (p.error * p.error);
    w += weight, wx += weight * p.x, wxx += weight * p.x * p.x;
    wy += weight * p.value, wxy += weight * p.x * p.value;
  }
  NodeTrend trend;
  if (with_slope) {
    const double determinant = w * wxx - wx * wx;
    trend = {(wxx * wy - wx * wxy) / determinant, (w * wxy - wx * wy) / determinant, wxx / determinant,
             -wx / determinant, w / determinant};
  } else {
    trend = {wy / w, 0, 1 / w, 0, 0};
  }
  double chi = 0;
  for (const TrendPoint& p : points) chi += std::pow((p.value - trend.at(p.x)) / p.error, 2);
  const int freedom = static_cast<int>(points.size()) - (with_slope ? 2 : 1);
  const double more = freedom > 0 ? std::max(1.0, chi / freedom) : 1.0;
  trend.var_first *= more, trend.covariance *= more, trend.var_slope *= more;
  return trend;
}

bool grows_with_nodes(Algorithm algorithm) {
  return latency_steps(algorithm, 2) != latency_steps(algorithm, 4);
}

}  // namespace

double latency_steps(Algorithm algorithm, int nodes) {
  switch (algorithm) {
    case Algorithm::ring:
    case Algorithm::pat:
      return nodes;
    case Algorithm::tree:
    case Algorithm::nvls_tree:
      return std::log2(nodes);
    case Algorithm::collnet_direct:
    case Algorithm::collnet_chain:
    case Algorithm::nvls:
      return 0;
  }
  return 0;
}

double rate_factor(Collective collective, Algorithm algorithm, int ranks) {
  return algorithm == Algorithm::tree ? 1 : bus_factor(collective, ranks);
}

double rounded(double value) {
  return std::stod(fmt::format("{:.6g}", value));
}

double alpha_error(const TunedFit& fit) {
  const double error = fit.alpha_error_us > 0 ? fit.alpha_error_us : fit.alpha_us * fit.residual;
  return std::max(error, least_error * fit.alpha_us);
}

double relative_beta_error(const TunedFit& fit) {
  return std::max(fit.beta_error_gbs > 0 ? fit.beta_error_gbs / fit.beta_gbs : fit.residual, least_error);
}

std::optional<NodeScaling> scale_over_nodes(const std::vector<TunedFit>& lines) {
  NodeScaling scaling;
  std::vector<TrendPoint> alphas, rates;
  for (const TunedFit& line : lines) {
    // One node is NVLink alone: another machine than several.
    if (line.shape.nodes < 2) continue;
    const double factor = rate_factor(line.collective, line.algorithm, line.shape.ranks());
    alphas.push_back({latency_steps(line.algorithm, line.shape.nodes), line.alpha_us, alpha_error(line)});
    alphas.back().error = std::max(alphas.back().error, 1e-6);
    rates.push_back({std::log2(line.shape.nodes), std::log(line.beta_gbs * factor), relative_beta_error(line)});
    scaling.algorithm = line.algorithm;
    scaling.least_nodes = scaling.least_nodes == 0 ? line.shape.nodes : std::min(scaling.least_nodes, line.shape.nodes);
    scaling.most_nodes = std::max(scaling.most_nodes, line.shape.nodes);
  }
  if (scaling.least_nodes == scaling.most_nodes) return std::nullopt;
  scaling.alpha = trend_of(alphas, grows_with_nodes(scaling.algorithm));
  scaling.log_rate = trend_of(rates, true);
  const bool changes = std::abs(scaling.log_rate.slope) > significant * std::sqrt(scaling.log_rate.var_slope);
  if (!changes || rates.size() < 3) {
    scaling.log_rate.first = trend_of(rates, false).first;
    scaling.log_rate.slope = 0;
  }
  return scaling;
}

}  // namespace octet
