#pragma once

#include <string>
#include <vector>

#include "src/tuning/cost_model/model.h"
#include "src/tuning/fit/fitted_groups.h"
#include "src/tuning/tuning_file.h"

namespace octet {

struct Pins {
  std::vector<TunedChoice> choices;
  std::vector<std::string> notes;  ///< where nothing could be said, and why
};

/// Finds where measurement contradicts what NCCL's model, with the constants given, would choose: sizes at which
/// another algorithm or protocol was so much faster that the intervals of both (95 %) do not meet. What the model
/// chooses must have been measured there: forced, or by leaving the choice to the library while its constants are its
/// own (`constants_changed` false). Entries that NCCL does not run by its model are never pinned. A choice reaches
/// half-way, by factors, to the next size at which it does not hold, never beyond the sizes measured, and only to the
/// number of nodes measured.
Pins find_pins(const NcclVersion& version, const NcclMachine& machine, const ModelConstants& constants,
               bool constants_changed, const std::vector<FittedGroup>& groups);

}  // namespace octet
