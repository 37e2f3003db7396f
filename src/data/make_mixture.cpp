#include "src/data/make_mixture.h"

#include <algorithm>
#include <cmath>

#include "src/base/error.h"
#include "src/data/period_mixture.h"
#include "src/data/tree_mixture.h"

namespace octet {

std::unique_ptr<const Mixture> make_mixture(std::int64_t version, std::span<const double> weights) {
  const bool good = std::ranges::all_of(weights, [](double w) { return w > 0 && std::isfinite(w); });
  if (weights.empty() || !good) throw internal_error("data", "{} weights that are no mixture", weights.size());
  switch (version) {
    case 1:
      return std::make_unique<PeriodMixture>(weights);
    case 2:
      return std::make_unique<TreeMixture>(weights);
    default:
      throw internal_error("data", "order of data {}", version);
  }
}

}  // namespace octet
