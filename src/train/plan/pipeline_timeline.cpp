#include "src/train/plan/pipeline_timeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/train/plan/dry_run.h"
#include "src/train/plan/memory_plan.h"
#include "src/train/step/pipeline_plan.h"

namespace octet {
namespace {

constexpr int model_stream = 1;

/// Where the time of a part of the step belongs.
double& seconds_of(RankSeconds& seconds, StepPart part) {
  switch (part) {
    case StepPart::forward:
      return seconds.forward;
    case StepPart::recompute:
    case StepPart::backward:
      return seconds.backward;
    case StepPart::weight_gradients:
      return seconds.weight_gradients;
    default:
      return seconds.rest;
  }
}

/// The step after the first, which is like all that follow.
Recording second_step(const RunConfig& config, const MeshShape& mesh, int rank, const MachineRates& rates) {
  DryTimeline timeline(rates, mesh, rank);
  DryRun dry(config, mesh, rank, DeviceType::cpu, &timeline);
  dry.second_step([&] { timeline.clear(); });
  timeline.end_step(2);
  return timeline.recording();
}

}  // namespace

RankSeconds rank_seconds(const Recording& step) {
  RankSeconds seconds;
  double before = 0;
  for (const Span& span : step.spans) {
    if (span.stream != model_stream) continue;
    seconds_of(seconds, span.part) += span.end - before;
    before = span.end;
  }
  seconds.rest = step.wall - seconds.forward - seconds.backward - seconds.weight_gradients;
  return seconds;
}

PipelineEstimate estimate_pipeline(const RunConfig& config, const MeshShape& mesh, const MachineRates& rates) {
  PipelineEstimate out;
  const auto [shape, passes, by_flops] = clocked_passes(config, mesh);
  std::vector<StageTimes> stages = stage_flops(config);
  for (int pp = 0; pp < shape.ranks; ++pp) {
    const int rank = rank_of_stage(mesh, static_cast<std::size_t>(pp));
    const RankSeconds& seconds = out.ranks.emplace_back(rank_seconds(second_step(config, mesh, rank, rates)));
    double flops = 0;
    for (int chunk = 0; chunk < shape.chunks; ++chunk) {
      flops += stages[static_cast<std::size_t>(shape.stage(pp, chunk))].forward;
    }
    for (int chunk = 0; chunk < shape.chunks; ++chunk) {
      StageTimes& stage = stages[static_cast<std::size_t>(shape.stage(pp, chunk))];
      const double share = stage.forward / flops / shape.micro_batches;
      stage = {seconds.forward * share, seconds.backward * share, seconds.weight_gradients * share};
    }
  }
  out.times = run_clock(shape, passes, stages);
  const auto rest = [](const RankSeconds& a, const RankSeconds& b) { return a.rest < b.rest; };
  out.step = out.times.end + std::ranges::max_element(out.ranks, rest)->rest;
  return out;
}

std::string pipeline_times_text(const PipelineEstimate& e) {
  std::string text = fmt::format("  {:>13} {:>12} {:>12} {:>12} {:>12}\n", "pipeline rank", "forward ms", "backward ms",
                                 "rest ms", "waits %");
  for (std::size_t r = 0; r < e.ranks.size(); ++r) {
    const RankSeconds& s = e.ranks[r];
    text += fmt::format("  {:>13} {:>12.3f} {:>12.3f} {:>12.3f} {:>12.1f}\n", r, 1e3 * s.forward,
                        1e3 * (s.backward + s.weight_gradients), 1e3 * s.rest,
                        100 * e.times.waiting_share(static_cast<int>(r)));
  }
  return text + fmt::format("  a step of {:.3f} ms, in whose passes ranks wait {:.1f} % of the time\n", 1e3 * e.step,
                            100 * e.times.bubble_share());
}

}  // namespace octet
