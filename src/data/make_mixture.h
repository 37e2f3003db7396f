#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "src/data/mixture.h"

namespace octet {

/// The mixture of that version of the order: 1 is PeriodMixture, 2 TreeMixture. Internal error for weights that are not
/// positive and finite, or for none; usage error for those that the version cannot mix.
std::unique_ptr<const Mixture> make_mixture(std::int64_t version, std::span<const double> weights);

}  // namespace octet
