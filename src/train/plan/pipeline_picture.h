#pragma once

#include <string>

#include "src/parallel/pipeline/pipeline_clock.h"

namespace octet {

/// An SVG of a pipeline's passes over time: a row a rank, a box a pass with the number of its micro-batch, forward,
/// backward and the two gradients in colours of their own, later chunks darker. `title` stands above.
std::string pipeline_picture(const PipelineShape& shape, const PipelinePasses& passes, const PipelineTimes& times,
                             const std::string& title);

}  // namespace octet
