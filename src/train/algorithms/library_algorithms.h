#pragma once

#include "src/train/start/rank_context.h"

namespace octet {

/// Chooses the algorithms of a run's GEMMs and of its attention on GPUs as config.cuda says (choose_algorithms.h),
/// before the run takes its memory. Nothing on a CPU. Collective over `control`.
void choose_library_algorithms(const RunConfig& config, const RankContext& context);

}  // namespace octet
