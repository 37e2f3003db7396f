#pragma once

#include <string>
#include <vector>

#include "src/parallel/pipeline/pipeline_steps.h"

namespace octet {

/// What is wrong with the transfers of the steps, a line each; see problems_of(PipelineSteps). Runs them as strictly as
/// any backend may: a rank's transfers of a direction are under way one after the other, one is over when both its
/// sides have reached it, and a pass waits for its input and for the last send from the slot that it takes.
std::vector<std::string> problems_of_transfers(const PipelineSteps& steps);

}  // namespace octet
