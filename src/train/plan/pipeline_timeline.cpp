#include "src/train/plan/pipeline_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

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
  dry.step();
  timeline.clear();
  dry.step();
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

namespace {

constexpr double left = 60, top = 40, row = 26, width = 1200;

/// Red, green and blue of a kind of pass in the first chunk.
std::array<int, 3> color_of(PassKind kind) {
  switch (kind) {
    case PassKind::forward:
      return {120, 170, 230};
    case PassKind::backward:
    case PassKind::input_gradient:
      return {150, 205, 140};
    case PassKind::weight_gradient:
      return {240, 190, 110};
  }
  return {};
}

std::string fill_of(const Pass& pass, int chunks) {
  const double shade = 1 - 0.45 * pass.chunk / std::max(chunks, 2);
  std::string text = "#";
  for (const int part : color_of(pass.kind)) text += fmt::format("{:02x}", static_cast<int>(part * shade));
  return text;
}

std::string box(double x, double y, double w, const std::string& fill, const std::string& label) {
  std::string text = fmt::format(
      "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\" stroke=\"white\" "
      "stroke-width=\"0.5\"/>\n",
      x, y, w, row - 4, fill);
  const bool readable = w >= 6 * static_cast<double>(label.size());
  if (readable)
    text += fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"middle\">{}</text>\n", x + w / 2, y + 15, label);
  return text;
}

}  // namespace

std::string schedule_picture(const PipelineShape& shape, const PipelinePasses& passes, const PipelineTimes& times,
                             const std::string& title) {
  const double scale = width / times.end;
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" font-family=\"sans-serif\" "
      "font-size=\"10\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"{}\" y=\"20\" "
      "font-size=\"13\">{}</text>\n",
      left + width + 10, top + row * shape.ranks + 34, left, title);
  for (std::size_t r = 0; r < passes.size(); ++r) {
    const double y = top + row * static_cast<double>(r);
    text += fmt::format("<text x=\"8\" y=\"{:.2f}\">rank {}</text>\n", y + 15, r);
    for (std::size_t i = 0; i < passes[r].size(); ++i) {
      const PassSpan& span = times.spans[r][i];
      text += box(left + span.begin * scale, y, (span.end - span.begin) * scale, fill_of(passes[r][i], shape.chunks),
                  fmt::format("{}", passes[r][i].micro_batch));
    }
  }
  double x = left;
  const double y = top + row * shape.ranks + 6;
  const auto legend = [&](PassKind kind, const char* name) {
    text += box(x, y, 16, fill_of({kind}, shape.chunks), "") +
            fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\">{}</text>\n", x + 22, y + 15, name);
    x += 150;
  };
  legend(PassKind::forward, "forward");
  if (shape.splits_backward()) {
    legend(PassKind::input_gradient, "gradients of inputs");
    legend(PassKind::weight_gradient, "gradients of weights");
  } else {
    legend(PassKind::backward, "backward");
  }
  return text + "</svg>\n";
}

}  // namespace octet
