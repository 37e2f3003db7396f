#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace octet {

struct FitPoint {
  std::int64_t bytes = 0;
  double microseconds = 0;
};

/// time = alpha + bytes / (1000 · beta) microseconds, fitted to measurements, with what they leave uncertain.
struct AlphaBeta {
  double alpha_us = 0;
  double beta_gbs = 0;
  double alpha_error_us = 0;  ///< standard errors
  double beta_error_gbs = 0;
  double noise = 0;                   ///< standard deviation of log(measured / fitted), robust, of the rows kept
  int rows = 0;                       ///< kept
  std::vector<std::size_t> left_out;  ///< indices of the points that lie too far off to count
  std::int64_t bytes_from = 0, bytes_to = 0;  ///< smallest and largest size of the rows kept

  /// What the line leaves out systematically: root mean square over the sizes whose rows agree with each other, of
  /// their median log(measured / fitted) beyond what noise gives. NCCL's trees dip at medium sizes, which no line
  /// follows.
  double misfit = 0;

  /// How far, relative, a measurement lies from the line: noise and misfit together.
  double residual() const { return std::hypot(noise, misfit); }
  double us(double bytes) const { return alpha_us + bytes / (1e3 * beta_gbs); }
};

/// Says whether rows of one size differ by no more than noise makes them: given log(time) or residuals.
bool rows_agree(const std::vector<double>& logarithms, double noise);

/// Why these points give no fit: too few rows or sizes; empty where they do.
std::string why_no_fit(const std::vector<FitPoint>& points);

/// Fits on relative errors, for times span five decades: the residual of a row is log(measured / fitted). Starts from
/// the line through two points for which the median residual is least (any half of the rows may be wrong), then
/// reweighted least squares with Tukey's biweight, whose scale is the median absolute residual. Only for points of
/// which why_no_fit() says nothing; the same points always give the same fit.
AlphaBeta fit_alpha_beta(const std::vector<FitPoint>& points);

}  // namespace octet
