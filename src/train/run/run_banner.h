#pragma once

#include <string>

#include "src/train/plan/memory_plan.h"
#include "src/train/start/rank_context.h"
#include "src/train/step/trainer.h"

namespace octet {

/// Logs what a reader of a run's log needs to know before its steps: model, layout, batch, data, precision, formats of
/// the GEMMs, recompute and memory plan. `recompute`: recompute_table, made before the trainer took its memory.
void log_run_banner(const RunConfig& config, const RankContext& context, const MemoryPlan& plan,
                    const std::string& recompute, const Trainer& trainer);

}  // namespace octet
