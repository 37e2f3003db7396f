#include "jobs/dry_run/step_lines.h"

#include <map>
#include <optional>
#include <tuple>

#include "jobs/dry_run/run_lines.h"
#include "src/base/error.h"
#include "src/base/files.h"
#include "src/profile/chrome_trace.h"
#include "src/train/plan/dry_order.h"
#include "src/train/plan/dry_run.h"
#include "src/train/plan/dry_timeline.h"
#include "src/train/plan/pipeline_picture.h"
#include "src/train/plan/pipeline_timeline.h"
#include "src/train/run/profile_report.h"
#include "src/train/step/pipeline_plan.h"

namespace octet {
namespace {

/// Calls and bytes of a step, by group and operation.
std::string trace_text(const CommTrace& trace) {
  struct Sum {
    std::int64_t calls = 0, bytes = 0;
    double bus_bytes = 0;
  };
  std::map<std::tuple<std::string, int, std::string, std::string>, Sum> sums;
  for (const CommRecord& r : trace.records()) {
    if (r.ranks == 1) continue;
    Sum& sum = sums[{r.group, r.ranks, r.operation, std::string(name_of(r.dtype))}];
    ++sum.calls;
    sum.bytes += r.bytes;
    sum.bus_bytes += bus_bytes(r.operation, r.ranks, r.bytes);
  }
  if (sums.empty()) return "collectives of a step: none, there is one rank\n";
  std::string text = fmt::format("collectives of a step:\n  {:<13} {:>6}  {:<15} {:<5} {:>8} {:>14} {:>14}\n", "group",
                                 "ranks", "operation", "dtype", "calls", "MiB", "MiB over bus");
  for (const auto& [key, sum] : sums) {
    const auto& [group, ranks, operation, dtype] = key;
    text += fmt::format("  {:<13} {:>6}  {:<15} {:<5} {:>8} {:>14.3f} {:>14.3f}\n", group, ranks, operation, dtype,
                        sum.calls, static_cast<double>(sum.bytes) / 0x1p20, sum.bus_bytes / 0x1p20);
  }
  return text;
}

void write_file(const std::string& path, const std::string& text) {
  if (overwrite_text(path, text)) return;
  throw not_written("train", path);
}

std::string timeline_text(const DryTimeline& timeline, const DryMachine& m, const DryCommand& c) {
  const Recording recording = timeline.recording();
  if (!c.options.timeline.empty()) {
    write_file(c.options.timeline, chrome_trace(recording, static_cast<int>(c.options.rank), "dry run"));
  }
  const std::string table = profile_table(recording, {{"dry run", break_down(recording.spans, recording.wall)}});
  double step = recording.wall;
  std::string stages;
  if (c.mesh.pp > 1) {
    const PipelineEstimate estimate = estimate_pipeline(c.run.config, c.mesh, rates_of(m));
    step = estimate.step;
    stages = fmt::format("that was rank {} as if it waited for no other stage; with all stages:\n{}", c.options.rank,
                         pipeline_times_text(estimate));
  }
  const double flops = c.run.config.model.flops_per_token(static_cast<double>(c.run.config.train.seq_len)) *
                       static_cast<double>(c.run.config.train.global_batch * c.run.config.train.seq_len) /
                       static_cast<double>(c.options.ranks) / step;
  const std::string documents = c.run.config.data.document_mask
                                    ? "data.document_mask: attention is counted across documents; within them it takes "
                                      "less by cuDNN, more by Octet's own kernels\n"
                                    : "";
  return fmt::format(
      "timeline of a step at the rates of the data sheet of {} and links of {}; no run quite reaches them:\n{}\n{}{}"
      "{:.1f} TFLOP/s a rank at most, {:.1f} % of the bf16 peak\n{}",
      m.gpu->name, m.links, table, stages, documents, flops / 1e12, 100 * flops / m.gpu->peak.bf16,
      all_steps_text(c.run.config, c.options.ranks, step));
}

}  // namespace

std::string pipeline_lines(const DryCommand& c) {
  if (c.mesh.pp == 1) {
    if (c.options.schedule.empty()) return "";
    throw usage_error("train", "--schedule {}: with parallel.pp = 1 there is no pipeline to draw", c.options.schedule);
  }
  const std::string text = pipeline_text(c.run.config, c.mesh);
  if (!c.options.schedule.empty()) {
    const auto [shape, passes, times] = clocked_passes(c.run.config, c.mesh);
    write_file(c.options.schedule, pipeline_picture(shape, passes, times, text));
  }
  return text + "\n";
}

std::string step_text(const DryCommand& c, const DryMachine& m) {
  const std::string without = why_no_timeline(m, c.options.ranks);
  if (!without.empty() && !c.options.timeline.empty()) {
    throw usage_error("train", "--timeline {}: there is none: {}", c.options.timeline, without);
  }
  const int rank = static_cast<int>(c.options.rank);
  std::optional<DryTimeline> timeline;
  if (without.empty()) timeline.emplace(rates_of(m), c.mesh, rank);
  WorkLog* const times = timeline ? &*timeline : nullptr;
  DryOrder order(times);
  DryRun dry(c.run.config, c.mesh, rank, DeviceType::cpu, c.options.order.empty() ? times : &order);
  std::string before;
  dry.second_step([&] {
    before = dry.trace().json_lines();
    order.clear();
    if (timeline) timeline->clear();
  });
  if (timeline) timeline->end_step(2);
  if (!c.options.trace.empty()) {
    write_file(c.options.trace, before + dry.trace().json_lines() + dry.gemms().json_lines());
  }
  if (!c.options.order.empty()) write_file(c.options.order, order.json_lines());
  const std::string text = trace_text(dry.trace());
  return text + (timeline ? timeline_text(*timeline, m, c) : fmt::format("no timeline: {}\n", without));
}

}  // namespace octet
