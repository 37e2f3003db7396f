#include "src/tuning/fit/predict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "src/tuning/fit/size_scaling.h"
#include "src/tuning/robust.h"

namespace octet {
namespace {

constexpr double unknown_a_doubling = 0.03;
constexpr double undetermined = 10;  // relative error that stands for an infinite one

/// A line with the variances of its two parameters, wherever it comes from.
struct Line {
  double alpha = 0, var_alpha = 0;
  double beta = 0, var_log_beta = 0;
  double noise = 0;    ///< of one measurement, relative
  double freedom = 1;  ///< degrees
  double unknown = 0;  ///< relative, for what lies beyond the measurements
};

double doublings(double value, double from, double to) {
  if (from <= 0 || to <= 0) return 0;
  return value > to ? std::log2(value / to) : value < from ? std::log2(from / std::max(value, 1.0)) : 0;
}

Prediction predict(const Line& line, std::int64_t bytes) {
  const double alpha = std::max(line.alpha, 0.0);
  const double wire = static_cast<double>(bytes) / (1e3 * line.beta);
  Prediction result;
  result.us = alpha + wire;
  const double relative = (line.var_alpha + wire * wire * line.var_log_beta) / (result.us * result.us);
  const double error = std::sqrt(relative + line.noise * line.noise);
  const double width = student_95(line.freedom) * error + line.unknown;
  result.low_us = result.us * std::exp(-width);
  result.high_us = result.us * std::exp(width);
  return result;
}

Line line_of(const TunedFit& fit) {
  return {.alpha = fit.alpha_us,
          .var_alpha = std::pow(alpha_error(fit), 2),
          .beta = fit.beta_gbs,
          .var_log_beta = std::pow(relative_beta_error(fit), 2),
          .noise = fit.residual,
          .freedom = std::max(1.0, static_cast<double>(fit.rows) - 2)};
}

Line line_of(const NodeScaling& scaling, const std::vector<TunedFit>& lines, CommShape shape) {
  const TunedFit& any = lines.front();
  const double x = latency_steps(any.algorithm, shape.nodes), doubled = std::log2(shape.nodes);
  Line line{.alpha = scaling.alpha.at(x),
            .var_alpha = scaling.alpha.variance(x),
            .beta = std::exp(scaling.log_rate.at(doubled)) / rate_factor(any.collective, any.algorithm, shape.ranks()),
            .var_log_beta = scaling.log_rate.variance(doubled)};
  double rows = 0;
  for (const TunedFit& one : lines) {
    line.noise = std::max(line.noise, one.residual);
    rows += static_cast<double>(one.rows) - 2;
  }
  line.freedom = std::max(1.0, rows);
  line.unknown = unknown_a_doubling * doublings(shape.nodes, scaling.least_nodes, scaling.most_nodes);
  return line;
}

/// Of the lines: how far the bytes lie from what they measured.
double beyond_bytes(const std::vector<TunedFit>& lines, std::int64_t bytes) {
  double least = INFINITY;
  for (const TunedFit& one : lines) {
    least = std::min(least, doublings(static_cast<double>(bytes), static_cast<double>(one.bytes_from),
                                      static_cast<double>(one.bytes_to)));
  }
  return least;
}

Prediction with_unknown_bytes(Line line, const std::vector<TunedFit>& lines, std::int64_t bytes) {
  const double beyond = beyond_bytes(lines, bytes);
  line.unknown += unknown_a_doubling * beyond;
  Prediction result = predict(line, bytes);
  result.extrapolated = beyond > 0;
  return result;
}

std::string list_of_nodes(const std::vector<TunedFit>& lines) {
  std::set<int> nodes;
  for (const TunedFit& one : lines) nodes.insert(one.shape.nodes);
  return fmt::format("{}", fmt::join(nodes, ", "));
}

/// What one line says at its own number of nodes.
Prediction predict_at(const TunedFit& fit, std::int64_t bytes) {
  Prediction result = with_unknown_bytes(line_of(fit), {fit}, bytes);
  result.basis = fmt::format("measured on {} nodes", fit.shape.nodes);
  return result;
}

}  // namespace

TunedFit tuned_fit(const AlphaBeta& fit, Collective collective, Algorithm algorithm, Protocol protocol,
                   CommShape shape) {
  TunedFit tuned{.collective = collective, .algorithm = algorithm, .protocol = protocol, .shape = shape};
  tuned.alpha_us = rounded(fit.alpha_us);
  tuned.beta_gbs = rounded(fit.beta_gbs);
  tuned.rows = fit.rows;
  tuned.residual = rounded(fit.residual());
  const double scale = fit.us(static_cast<double>(fit.bytes_from));
  tuned.alpha_error_us = rounded(std::min(fit.alpha_error_us, undetermined * scale));
  tuned.beta_error_gbs = rounded(std::min(fit.beta_error_gbs, undetermined * fit.beta_gbs));
  tuned.bytes_from = fit.bytes_from;
  tuned.bytes_to = fit.bytes_to;
  const auto middle = std::sqrt(static_cast<double>(fit.bytes_from) * static_cast<double>(fit.bytes_to));
  const Prediction there = predict_at(tuned, std::llround(middle));
  tuned.confidence = rounded(std::clamp(1 - std::log(there.high_us / there.us), 0.0, 1.0));
  return tuned;
}

std::optional<Prediction> fitted_us(const TuningFile& tuning, Collective collective, Algorithm algorithm,
                                    Protocol protocol, CommShape shape, std::int64_t bytes) {
  std::vector<TunedFit> several;
  for (const TunedFit& fit : tuning.fits) {
    if (fit.collective != collective || fit.algorithm != algorithm || fit.protocol != protocol ||
        fit.shape.ranks_per_node != shape.ranks_per_node) {
      continue;
    }
    if (fit.shape == shape) return predict_at(fit, bytes);
    if (fit.shape.nodes > 1) several.push_back(fit);
  }
  if (shape.nodes < 2) return std::nullopt;
  const std::optional<NodeScaling> scaling = scale_over_nodes(several);
  if (!scaling) return std::nullopt;
  Prediction result = with_unknown_bytes(line_of(*scaling, several, shape), several, bytes);
  result.extrapolated |= shape.nodes < scaling->least_nodes || shape.nodes > scaling->most_nodes;
  result.basis = fmt::format("from fits on {} nodes", list_of_nodes(several));
  return result;
}

}  // namespace octet
