#include "jobs/dry_run/dry_run_command.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>

#include "jobs/dry_run/dry_machine.h"
#include "jobs/dry_run/dry_run_options.h"
#include "jobs/dry_run/whole_run.h"
#include "jobs/run/command_line.h"
#include "jobs/run/saved_run.h"
#include "src/base/files.h"
#include "src/base/log.h"
#include "src/base/options/arguments.h"
#include "src/base/options/document.h"
#include "src/data/data_stages.h"
#include "src/profile/chrome_trace.h"
#include "src/train/options/checks.h"
#include "src/train/options/data_check.h"
#include "src/train/options/layout.h"
#include "src/train/options/schedule_check.h"
#include "src/train/plan/dry_order.h"
#include "src/train/plan/dry_run.h"
#include "src/train/plan/dry_timeline.h"
#include "src/train/plan/memory_plan.h"
#include "src/train/plan/pipeline_timeline.h"
#include "src/train/plan/schedule_picture.h"
#include "src/train/run/profiler.h"
#include "src/train/start/cpu_setup.h"
#include "src/train/start/initial_weights_check.h"
#include "src/train/start/resume.h"
#include "src/train/step/pipeline_plan.h"
#include "src/train/step/run_settings.h"

namespace octet {
namespace {

constexpr std::string_view flag = "--dry-run";

struct DryCommand {
  DryRunOptions options;
  CommandLine run;
  MeshShape mesh;
};

/// Words of a dry run's own options, each with its value, go to `own`; all others to `run`.
void distribute(const std::vector<std::string>& words, const std::vector<std::string>& own_names,
                std::vector<const char*>& own, std::vector<const char*>& run) {
  own = run = {"octet-train"};
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == flag) continue;
    const std::size_t equals = words[i].find('=');
    const bool is_own =
        words[i].starts_with("--") && std::ranges::find(own_names, words[i].substr(2, equals - 2)) != own_names.end();
    auto& to = is_own ? own : run;
    to.push_back(words[i].c_str());
    if (is_own && equals == std::string::npos && i + 1 < words.size()) to.push_back(words[++i].c_str());
  }
}

void check(const DryRunOptions& o) {
  if (o.ranks == 0) throw usage_error("train", "--dry-run: of how many ranks? --ranks N");
  if (o.rank >= o.ranks) throw usage_error("train", "--rank {}: expected one of 0 to {}", o.rank, o.ranks - 1);
  if (!o.cluster.empty() && !o.gpu.empty()) {
    throw usage_error("train", "--cluster {} and --gpu {}: expected one of them", o.cluster, o.gpu);
  }
}

DryCommand parse(const std::vector<std::string>& words) {
  DryCommand out;
  Schema schema;
  declare(schema, out.options);
  std::vector<const char*> own, run;
  std::vector<std::string> rest = words;
  out.options.overrides = take_profile_overrides(rest);
  distribute(rest, schema.names(), own, run);
  const Arguments arguments = parse_arguments(schema, {}, static_cast<int>(own.size()), own.data());
  apply(arguments, schema);
  out.run = parse_command_line(static_cast<int>(run.size()), run.data());
  if (out.run.action != CommandLine::Action::run) return out;
  check(out.options);
  check_overrides(out.options.cluster, out.options.overrides);
  out.run.config = laid_out(out.run.config, out.options.ranks, out.run.origins);
  out.mesh = mesh_shape(out.run.config.parallel);
  return out;
}

std::string memory_text(const MemoryPlan& plan, const DryCommand& c, const DryMachine& m) {
  const RunConfig& config = c.run.config;
  std::string text = fmt::format("memory plan:\n{}", memory_table(plan, nullptr));
  if (fsdp_options(config, c.mesh.dp_shard).keep_transposed) {
    text += "  with transposed copies of 8-bit weights (float8.keep_transposed_weights)\n";
  }
  if (config.device == DeviceType::cuda) {
    text += "  with workspaces as large as those of the CPU's kernels; a GPU's are known with the GPU alone\n";
    if (config.cuda.deterministic) text += "  without what attention takes for cuda.deterministic\n";
  }
  if (c.mesh.pp == 1) return text + fit_text(plan, m);
  const PipelineMemory pipeline = plan_pipeline(config, c.mesh, m.ranks_on_node, DeviceType::cpu);
  return text + fmt::format("memory of the pipeline's ranks:\n{}", pipeline_table(pipeline)) +
         fit_text(pipeline.ranks[pipeline.worst()], m);
}

/// What the learning rate does, in a run that goes on from what is in run.dir if there is something.
std::string schedule_lines(RunConfig config, const std::optional<SavedRun>& saved) {
  if (!saved) return fmt::format("learning rate: {}\n", schedule_text(config.schedule, config.train.steps));
  config.schedule.extensions = extensions_after(saved->then, config, saved->step, saved->directory);
  return fmt::format("learning rate: {}; goes on after step {} of {}\n",
                     schedule_text(config.schedule, config.train.steps), saved->step, saved->directory);
}

/// How the mixture changes; the files are not looked at.
std::string mixture_lines(RunConfig config, const std::optional<SavedRun>& saved) {
  config.data.history = saved ? data_history_after(saved->then, config, saved->step, saved->directory) : DataHistory{};
  check_changes(config.data);
  std::string text;
  for (const std::string& change : stage_texts(config.data)) text += fmt::format("data: {}\n", change);
  return text;
}

/// Where a new run's weights come from; the folder is looked at, without the data.
std::string weights_lines(const RunConfig& config, const std::optional<SavedRun>& saved) {
  if (config.init.from.empty() || saved) return "";
  check_initial_weights(config, std::nullopt);
  return fmt::format("initial weights: those of {}\n", config.init.from);
}

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

/// Writes the picture that is asked for.
std::string pipeline_lines(const DryCommand& c) {
  if (c.mesh.pp == 1) {
    if (c.options.schedule.empty()) return "";
    throw usage_error("train", "--schedule {}: with parallel.pp = 1 there is no pipeline to draw", c.options.schedule);
  }
  const std::string text = pipeline_text(c.run.config, c.mesh);
  if (!c.options.schedule.empty()) {
    const auto [shape, passes, times] = clocked_passes(c.run.config, c.mesh);
    write_file(c.options.schedule, schedule_picture(shape, passes, times, text));
  }
  return text + "\n";
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

/// The step after the first, which is like all that follow.
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
  dry.step();
  const std::string before = dry.trace().json_lines();
  dry.trace().clear();
  order.clear();
  if (timeline) timeline->clear();
  dry.step();
  if (timeline) timeline->end_step(2);
  if (!c.options.trace.empty()) {
    write_file(c.options.trace, before + dry.trace().json_lines() + dry.gemms().json_lines());
  }
  if (!c.options.order.empty()) write_file(c.options.order, order.json_lines());
  const std::string text = trace_text(dry.trace());
  return text + (timeline ? timeline_text(*timeline, m, c) : fmt::format("no timeline: {}\n", without));
}

}  // namespace

bool asks_for_dry_run(const std::vector<std::string>& words) {
  return std::ranges::find(words, flag) != words.end();
}

std::string dry_run(const std::vector<std::string>& words) {
  DryCommand c = parse(words);
  if (c.run.action != CommandLine::Action::run) return answer(c.run);
  check_plan_file(c.run.config, c.run.origins);
  const DryMachine m = machine_of(c.options, c.run.config);
  if (c.run.config.device == DeviceType::cpu) set_up_cpu(c.run.config.cpu, m.ranks_on_node);  // for its workspaces
  std::string text = fmt::format("rank {} of {}, {}, {} a node\n", c.options.rank, c.options.ranks, layout_text(c.mesh),
                                 m.ranks_on_node);
  text += zero_text(fsdp_options(c.run.config, c.mesh.dp_shard), c.mesh.dp_shard) + "\n";
  text += pipeline_lines(c);
  const std::optional<SavedRun> saved = newest_saved(c.run.config);
  text += schedule_lines(c.run.config, saved);
  text += mixture_lines(c.run.config, saved);
  text += weights_lines(c.run.config, saved);
  const FittedRun fitted = fit_run(c.run.config, c.mesh, static_cast<int>(c.options.rank), m.ranks_on_node,
                                   DeviceType::cpu, [&](const MemoryPlan& of) { return fits_gpu(of, m); });
  c.run.config = fitted.config;
  text += memory_text(fitted.plan, c, m);
  text += checkpoints_text(c.run.config);
  return text + step_text(c, m);
}

int dry_run_main(const std::vector<std::string>& words) {
  try {
    fmt::print("{}", dry_run(words));
    return log::after_output(0);
  } catch (const Error& error) {
    log::error("{}", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    log::error("[train] {}", error.what());
    return static_cast<int>(ExitCode::internal);
  }
}

}  // namespace octet
