#include "jobs/train/dry_run_command.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>

#include "jobs/train/command_line.h"
#include "jobs/train/dry_run_options.h"
#include "kernels/table.h"
#include "src/base/log.h"
#include "src/base/options/arguments.h"
#include "src/base/options/document.h"
#include "src/base/write_all.h"
#include "src/cluster/profile.h"
#include "src/metrics/peak.h"
#include "src/profile/chrome_trace.h"
#include "src/train/dry_run.h"
#include "src/train/dry_timeline.h"
#include "src/train/plan_run.h"
#include "src/train/profiler.h"
#include "src/train/validate.h"

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

DryCommand parse(const std::vector<std::string>& words) {
  DryCommand out;
  Schema schema;
  declare(schema, out.options);
  std::vector<const char*> own, run;
  distribute(words, schema.names(), own, run);
  const Arguments arguments = parse_arguments(schema, {}, static_cast<int>(own.size()), own.data());
  apply(arguments, schema);
  const DryRunOptions& o = out.options;
  if (o.ranks == 0) throw usage_error("train", "--dry-run: of how many ranks? --ranks N");
  if (o.rank >= o.ranks) throw usage_error("train", "--rank {}: expected one of 0 to {}", o.rank, o.ranks - 1);
  if (!o.cluster.empty() && !o.gpu.empty()) {
    throw usage_error("train", "--cluster {} and --gpu {}: expected one of them", o.cluster, o.gpu);
  }
  out.run = parse_command_line(static_cast<int>(run.size()), run.data());
  if (out.run.action != CommandLine::Action::run) return out;
  RunConfig& config = out.run.config;
  config.parallel = resolve_layout(config, o.ranks, out.run.origins);
  config.nccl.one_rank_groups = config.parallel.one_rank_exchange;
  out.mesh = mesh_shape(config.parallel);
  return out;
}

/// What the run is on, as far as it is known.
struct Machine {
  std::string gpu;
  double gib = 0;  ///< of a GPU's memory, for the run; 0: not known
  int ranks_on_node = 8;
  std::optional<MachineRates> rates{};
  std::string links{};  ///< where the links' rates are from
};

/// Bytes a second of a link of so many Gb/s.
double bytes_of(double gbps) {
  return gbps * 1e9 / 8;
}

Machine machine_of(const DryRunOptions& o) {
  Machine m{.gpu = o.gpu, .links = "400 Gb/s a GPU between nodes (--cluster knows better)"};
  double network = bytes_of(8 * 400), latency = 10e-6;
  std::optional<GpuSheet> sheet;
  if (!o.cluster.empty()) {
    const ClusterProfile p = read_profile(o.cluster);
    m = {.gpu = p.gpus.type,
         .gib = p.gpus.per_node > 0 ? p.gpus.memory_gib - p.gpus.reserved_gib : 0,
         .ranks_on_node = static_cast<int>(p.ranks_per_node()),
         .links = p.name};
    network = bytes_of(static_cast<double>(p.nics.per_node * p.nics.gbps));
    latency = 2e-6 * p.network.latency_us + 5e-6;
    sheet = gpu_sheet(p.gpus.type);
  } else if (!o.gpu.empty()) {
    sheet = gpu_sheet(o.gpu);
    if (!sheet) throw usage_error("train", "--gpu {}: expected one of {}", o.gpu, known_gpus());
    m.gib = sheet->memory_bytes / 0x1p30 - GpuProfile().reserved_gib;
  }
  if (o.ranks_per_node > 0) m.ranks_on_node = static_cast<int>(o.ranks_per_node);
  if (!sheet) return m;
  m.gpu = sheet->name;
  m.rates = MachineRates{.fp8 = sheet->peak.fp8,
                         .bf16 = sheet->peak.bf16,
                         .fp32 = sheet->fp32,
                         .memory = sheet->memory_bandwidth,
                         .ranks_on_node = m.ranks_on_node,
                         .in_node = sheet->nvlink_bandwidth,
                         .network = network,
                         .latency = latency};
  return m;
}

std::string memory_text(const DryCommand& c, const Machine& m, DeviceType kernels) {
  const MemoryPlan plan = plan_run(c.run.config, c.mesh, static_cast<int>(c.options.rank), m.ranks_on_node, kernels);
  std::string text = fmt::format("memory plan:\n{}", memory_table(plan, nullptr));
  const bool on_gpu = c.run.config.device == "cuda";
  if (on_gpu && kernels == DeviceType::cpu) text += "  planned with the CPU's kernels: this build has no CUDA\n";
  if (on_gpu && m.gib > 0) {
    const double needs = static_cast<double>(plan.total() + plan.nccl) / 0x1p30;
    text += fmt::format("  {:.1f} of {:.1f} GiB of one {}: {}\n", needs, m.gib, m.gpu,
                        needs <= m.gib ? "fits" : "does NOT fit");
  }
  return text;
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
  throw usage_error("train", "{}: cannot be written: {}", path, std::strerror(errno));
}

std::string timeline_text(const DryTimeline& timeline, const Machine& m, const DryCommand& c) {
  const Recording recording = timeline.recording();
  if (!c.options.timeline.empty()) {
    write_file(c.options.timeline, chrome_trace(recording, static_cast<int>(c.options.rank), "dry run"));
  }
  const double flops = c.run.config.model.flops_per_token(c.run.config.train.seq_len) *
                       static_cast<double>(c.run.config.train.global_batch * c.run.config.train.seq_len) /
                       static_cast<double>(c.options.ranks) / recording.wall;
  return fmt::format(
      "timeline of a step at the rates of the data sheet of {} and links of {}; no run quite reaches them:\n{}\n"
      "{:.1f} TFLOP/s a rank at most, {:.1f} % of the bf16 peak\n",
      m.gpu, m.links, profile_table(recording, {{"dry run", break_down(recording.spans, recording.wall)}}),
      flops / 1e12, 100 * flops / m.rates->bf16);
}

/// The step after the first, which is like all that follow.
std::string step_text(const DryCommand& c, const Machine& m, DeviceType kernels) {
  std::optional<DryTimeline> timeline;
  const int rank = static_cast<int>(c.options.rank);
  if (m.rates) timeline.emplace(*m.rates, c.mesh, rank);
  DryRun dry(c.run.config, c.mesh, rank, kernels, timeline ? &*timeline : nullptr);
  dry.step();
  const std::string before = dry.trace().json_lines();
  dry.trace().clear();
  if (timeline) timeline->clear();
  dry.step();
  if (timeline) timeline->end_step(2);
  if (!c.options.trace.empty()) {
    write_file(c.options.trace, before + dry.trace().json_lines() + dry.gemms().json_lines());
  }
  std::string text = trace_text(dry.trace());
  if (!timeline) return text + "no timeline: name a GPU with --gpu, or a cluster of GPUs with --cluster\n";
  return text + timeline_text(*timeline, m, c);
}

}  // namespace

bool asks_for_dry_run(const std::vector<std::string>& words) {
  return std::ranges::find(words, flag) != words.end();
}

std::string dry_run(const std::vector<std::string>& words) {
  const DryCommand c = parse(words);
  if (c.run.action != CommandLine::Action::run) return answer(c.run);
  const Machine m = machine_of(c.options);
  const RunConfig& config = c.run.config;
  const DeviceType kernels = config.device == "cuda" && has_cuda_kernels() ? DeviceType::cuda : DeviceType::cpu;
  return fmt::format("rank {} of {}, dp_replicate {} x dp_shard {} x tp {}, {} a node\n", c.options.rank,
                     c.options.ranks, c.mesh.dp_replicate, c.mesh.dp_shard, c.mesh.tp, m.ranks_on_node) +
         memory_text(c, m, kernels) + step_text(c, m, kernels);
}

int dry_run_main(const std::vector<std::string>& words) {
  try {
    fmt::print("{}", dry_run(words));
    return 0;
  } catch (const Error& error) {
    log::error("{}", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    log::error("[train] {}", error.what());
    return static_cast<int>(ExitCode::internal);
  }
}

}  // namespace octet
