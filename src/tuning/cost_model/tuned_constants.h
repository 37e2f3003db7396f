#pragma once

#include "src/tuning/cost_model/model_constants.h"
#include "src/tuning/tuning_file.h"

namespace octet {

/// The first version in which tuners see constants.
inline constexpr NcclVersion first_with_constants{2, 28, 3};

/// The table of a limit, by generation and nodes.
GenerationTable& limit_table(ModelConstants& constants, TunedLimit limit);

/// The model's constants with those of a tuning file in their places.
ModelConstants with_tuned(ModelConstants constants, const TunedConstants& tuned);

}  // namespace octet
