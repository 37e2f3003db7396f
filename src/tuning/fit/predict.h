#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/tuning/fit/alpha_beta.h"
#include "src/tuning/tuning_file.h"

namespace octet {

/// A time with the interval in which 95 of 100 measurements are expected.
struct Prediction {
  double us = 0;
  double low_us = 0, high_us = 0;
  bool extrapolated = false;  ///< beyond the nodes or the sizes that were measured
  std::string basis;          ///< "measured on 16 nodes", "from fits on 2, 4, 8 and 16 nodes"
};

/// A fit as the tuning file keeps it.
TunedFit tuned_fit(const AlphaBeta& fit, Collective collective, Algorithm algorithm, Protocol protocol,
                   CommShape shape);

/// What the fits of a tuning file say of a collective; none where they cannot. A number of nodes that was measured has
/// its own line. Others follow from the lines of two or more numbers of nodes, two or more each, with as many ranks a
/// node (scaling.h). The interval holds the noise of one measurement, the errors of the fit, what the lines of the
/// several numbers of nodes disagree by, and 3 % for every doubling beyond what was measured in nodes or bytes: for
/// what no measurement showed.
std::optional<Prediction> fitted_us(const TuningFile& tuning, Collective collective, Algorithm algorithm,
                                    Protocol protocol, CommShape shape, std::int64_t bytes);

}  // namespace octet
