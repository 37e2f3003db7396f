#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "src/tuning/cost_model/nccl_release.h"
#include "src/tuning/fit/alpha_beta.h"
#include "src/tuning/fit/cluster_fit.h"

namespace octet {

inline const std::string fit_samples = OCTET_SOURCE_DIR "/tests/tuning/fit/";

/// Of the made-up benchmarks.
inline const NcclVersion nccl_2_28_9{2, 28, 9};

inline bool has_note(const ClusterFit& fit, const std::string& part) {
  const auto& notes = fit.tuning.provenance.notes;
  return std::ranges::any_of(notes, [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

/// How a made-up benchmark errs.
struct Noise {
  double sigma = 0;     ///< of the logarithm of every time
  double outliers = 0;  ///< part of the rows that are wrong by a factor of 3 to 20, mostly slower
  unsigned seed = 1;
};

/// `repeats` times the sizes 8 bytes, 16, ... below 8 GiB of t = alpha + bytes / (1000 beta).
inline std::vector<FitPoint> made_up_rows(double alpha_us, double beta_gbs, Noise noise, int repeats = 4) {
  std::mt19937_64 random(noise.seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<FitPoint> points;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (std::int64_t bytes = 8; bytes < std::int64_t{8} << 30; bytes *= 2) {
      double us = alpha_us + static_cast<double>(bytes) / (1e3 * beta_gbs);
      us *= std::exp(noise.sigma * normal(random));
      if (uniform(random) < noise.outliers) {
        const double factor = 3 + 17 * uniform(random);
        us *= uniform(random) < 0.8 ? factor : 1 / factor;
      }
      points.push_back({bytes, us});
    }
  }
  return points;
}

}  // namespace octet
