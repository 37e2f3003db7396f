#pragma once

#include <memory>

#include "src/ops/scaling.h"

namespace octet {

/// The scaling of a configuration.
std::unique_ptr<Float8Scaling> make_scaling(Precision precision, const Float8Config& float8, const CastCounts& casts,
                                            Stream& stream);

}  // namespace octet
