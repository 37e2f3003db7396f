#pragma once

#include <string>
#include <vector>

#include "src/parallel/pipeline/pipeline_steps.h"

namespace octet {

/// What is wrong with a pipeline's passes, a line each; empty when it is proven that every stage does each
/// micro-batch's forward and its backward (or its two gradients) once and in that order, with gradients in the order of
/// the micro-batches, so that their sums are those of no pipeline; and that no pass waits for ever.
std::vector<std::string> problems_of(const PipelineShape& shape, const PipelinePasses& passes);

/// What is wrong with a pipeline's steps: their passes as above, and in addition it is proven that every message is
/// sent once, received once and there before it is used, no slot or landing is taken twice at a time, and no rank waits
/// for ever even if a transfer ends only when both sides have begun it, those of one direction follow each other on
/// each rank, and a rank does nothing while it waits.
std::vector<std::string> problems_of(const PipelineSteps& steps);

}  // namespace octet
