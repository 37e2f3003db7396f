#pragma once

#include <optional>
#include <vector>

#include "src/tuning/tuning_file.h"

namespace octet {

/// A quantity over nodes: at(x) = first + slope · x, with the variance of what it says.
struct NodeTrend {
  double first = 0, slope = 0;
  double var_first = 0, covariance = 0, var_slope = 0;
  double at(double x) const { return first + slope * x; }
  double variance(double x) const { return var_first + 2 * x * covariance + x * x * var_slope; }
};

/// How a group's latency and rate change with the number of nodes.
struct NodeScaling {
  Algorithm algorithm = Algorithm::ring;
  NodeTrend alpha;     ///< microseconds over latency_steps()
  NodeTrend log_rate;  ///< log of beta · rate_factor() over log2(nodes)
  int least_nodes = 0, most_nodes = 0;
};

/// What an algorithm's latency is linear in: nodes (ring, pat: a step a rank), log2 of the nodes (tree, nvls_tree), or
/// nothing (nvls, collnet_*: one network round); NVIDIA/nccl v2.28.9-1, src/graph/tuning.cc, ncclTopoTuneModel.
double latency_steps(Algorithm algorithm, int nodes);

/// beta times this is expected to be the same for all numbers of nodes: nccl-tests' bus factor for algorithms that move
/// each byte that often over a link, 1 for trees.
double rate_factor(Collective collective, Algorithm algorithm, int ranks);

/// The scaling of two or more lines that differ in nothing but nodes; none for fewer than two numbers of nodes. The
/// rate has a slope only where it is more than two standard errors; the slope's variance counts in any case.
std::optional<NodeScaling> scale_over_nodes(const std::vector<TunedFit>& lines);

/// The value rounded to six digits, which is more than any of it is worth, for a file that people read.
double rounded(double value);

/// Standard errors with what the file leaves out filled in.
double alpha_error(const TunedFit& fit);
double relative_beta_error(const TunedFit& fit);

}  // namespace octet
