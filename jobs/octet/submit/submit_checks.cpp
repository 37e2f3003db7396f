#include "jobs/octet/submit/submit_checks.h"

#include <filesystem>
#include <optional>
#include <sstream>

#include "jobs/ranks/nccl_tuner.h"
#include "jobs/run/fit.h"
#include "jobs/run/next_start.h"
#include "jobs/run/planned_run.h"
#include "src/base/log.h"
#include "src/cluster/environment/job_environment.h"
#include "src/cluster/machine/run_program.h"
#include "src/cluster/slurm_job.h"
#include "src/comm/mesh_shape.h"
#include "src/data/passes.h"
#include "src/data/sampler.h"
#include "src/metrics/peak.h"
#include "src/metrics/status.h"
#include "src/run_config/checks/checks.h"
#include "src/run_config/checks/layout.h"
#include "src/run_config/options/option_texts.h"
#include "src/train/plan/less_memory.h"
#include "src/train/plan/nccl_variables.h"
#include "src/train/start/token_ranges.h"
#include "src/train/start/tokenizer_record.h"
#include "src/train/step/run_settings.h"
#include "src/tuning/tuning_file.h"

namespace octet::submit {
namespace {

void check_nodes(const SubmitOptions& o, const ClusterProfile& p) {
  if (p.nodes.count > 0 && o.nodes + o.spares > p.nodes.count) {
    throw usage_error("submit",
                      "--nodes {} and --spares {}: a job on {} has at most {} nodes (nodes.count of its profile)",
                      o.nodes, o.spares, p.name, p.nodes.count);
  }
}

void check_time(const SubmitOptions& o, const ClusterProfile& p, std::int64_t lead) {
  const std::int64_t limit =
      o.time.empty() ? parse_slurm_time(p.slurm.time, "slurm.time") : parse_slurm_time(o.time, "--time");
  if (limit > lead) return;
  throw usage_error("submit",
                    "a time limit of {} s: the job is told to save {} s before it, expected more (--time, or "
                    "--cluster.launcher.min_lead_seconds)",
                    limit, lead);
}

/// As each rank will ask of the GPU itself, where it is one that is known.
void check_gpu_type(const CommandLine& run, const ClusterProfile& p) {
  const auto sheet = p.gpus.per_node > 0 ? gpu_sheet(p.gpus.type) : std::nullopt;
  if (sheet)
    check_gpu(run.config, sheet->compute_capability, run.origins, fmt::format("the {} of {}", sheet->name, p.name));
}

/// A job that is requeued, restarted or the next of a chain goes on by itself.
void check_resuming(const RunConfig& c, const SubmitOptions& o) {
  if (c.checkpoint.resume != Resume::automatic) {
    throw usage_error("submit", "checkpoint.resume = {}: a job that starts again could not go on; expected auto",
                      c.checkpoint.resume);
  }
  if (saves(c.checkpoint)) return;
  if (o.chain > 1) {
    throw usage_error(
        "submit", "checkpoint.interval = off: the jobs of --chain {} would all begin at step 0; expected an interval",
        o.chain);
  }
  log::warning("checkpoint.interval = off: what ends the job before its last step loses all of it");
}

void check_not_finished(const RunConfig& c) {
  const auto status = read_status(c.run_dir + "/status.json");
  if (!status || status->state != "finished" || status->step < c.train.steps) return;
  throw usage_error("submit", "{}: the run is finished, at step {}; expected more train.steps, or another run.dir",
                    c.run_dir, status->step);
}

/// What this machine lacks for the run is noted, since its nodes may have it.
void check_memory(const RunConfig& c, const MeshShape& mesh, const ClusterProfile& p, const NcclVariables& nccl,
                  std::vector<std::string>& notes) {
  const int ranks_on_node = static_cast<int>(p.ranks_per_node());
  const auto gpu_fits = [&](const MemoryPlan& of) { return fit_of(of, p, ranks_on_node).gpu_fits(); };
  const PlannedRun planned = plan_on({.ranks_on_node = ranks_on_node, .nccl = nccl, .gpu_fits = gpu_fits}, c, mesh);
  if (!planned.lacking_here.empty()) notes.push_back("not checked: " + planned.lacking_here);
  const MemoryPlan& plan = planned.worst();
  const auto refuse = [&](const char* what, double needs, double has, const std::string& ways) {
    throw usage_error("submit", "the run needs {:.1f} GiB of a {}, which has {:.1f} on {}; use {}\n{}", needs, what,
                      has, p.name, ways, memory_table(plan, nullptr));
  };
  const Fit fit = fit_of(plan, p, ranks_on_node);
  const std::string ways = ways_to_less_memory(planned.config, mesh, ranks_on_node, "nodes");
  if (!fit.gpu_fits()) refuse("GPU", fit.gpu, fit.of_gpu, ways);
  // Of a node with GPUs it is the checkpoints' memory, which the weights alone decide.
  if (!fit.node_fits()) refuse("node", fit.node, fit.of_node, c.device == DeviceType::cuda ? "more nodes" : ways);
  if (fit.of_gpu > 0) {
    log::info("memory: {:.1f} of {:.1f} GiB of a GPU, planned with the CPU's kernels{}", fit.gpu, fit.of_gpu,
              c.cuda.deterministic ? ", without what attention takes for cuda.deterministic" : "");
  }
  log::info("memory: {:.1f} of {} GiB of a node", fit.node, p.nodes.memory_gib);
}

/// Of all sources together: what takes seconds to read on a login node, which is nobody's alone. The run looks at the
/// rest.
constexpr std::int64_t most_scanned = std::int64_t{2} << 30;

/// Returns the tokenizer that made them, where they say it.
std::optional<TokenizerIdentity> check_data(const NextStart& start) {
  const RunConfig& c = start.config;
  const std::vector<std::string> changes = mixture_texts(start);
  const Sampler sampler(c.data.train, sampler_config(c));
  const DataIdentity identity = identify_data(sampler);
  check_token_ranges(sampler, c.run_dir, most_scanned);
  const std::int64_t samples = c.train.steps * c.train.global_batch;
  log::info("data: {} source(s), {} samples of {} tokens are asked for", c.data.train.size(), samples, c.train.seq_len);
  for (const SourcePasses& source : passes_after(sampler, c.train.steps)) {
    log::info("data: {:.2f} passes over {}", source.passes(), source.path);
  }
  for (const std::string& text : changes) log::info("data: {}", text);
  for (const std::string& text : too_many_passes(sampler, c.train.steps, c.data.max_passes)) log::warning("{}", text);
  for (const std::string& text : without_effect(sampler, c.train.steps)) log::warning("{}", text);
  return identity.tokenizer;
}

void check_weights(const NextStart& start, const std::optional<TokenizerIdentity>& data) {
  const std::string text = initial_weights_text(start, data);
  if (!text.empty()) log::info("{}", text);
}

/// As each rank will read it.
void check_tuning_file(const RunConfig& c, const ClusterProfile& p) {
  const std::string& file = c.nccl.tuning_file;
  if (file.empty()) return;
  const TuningFile tuning = read_tuning_file(file);
  if (const std::string open = changeable_by_others(file); !open.empty()) {
    throw usage_error("submit", "nccl.tuning_file = {}: {}", file, open);
  }
  if (tuning.cluster == p.name) return;
  log::warning("nccl.tuning_file = {}: is of cluster {} ({}), and not of {}: its choices and times need not hold there",
               file, tuning.cluster, tuning.fabric, p.name);
}

/// The line "devices    cpu, cuda ..." of what octet-train --version prints; empty where there is none.
std::string devices_of(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("devices ")) return line.substr(line.find_first_not_of(' ', 8));
  }
  return "";
}

/// octet-train as the job starts it; what it does not say is noted, and of a dry run that it is the wrong one.
void check_program(const RunConfig& c, const ClusterProfile& p, const std::string& program, bool dry_run,
                   std::vector<std::string>& notes) {
  const std::string& image = p.container.image;
  std::error_code ignored;
  if (image.starts_with('/') && !std::filesystem::exists(image, ignored)) {
    throw usage_error("submit", "container.image = {}: is not there, expected an image that all nodes see", image);
  }
  if (!p.software.container.empty() || !image.empty()) {
    notes.emplace_back("not checked: program: the one in the container cannot be asked here what it was built for");
    return;
  }
  std::error_code error;
  if (!std::filesystem::is_regular_file(program, error)) {
    throw usage_error("submit", "{}: is not there, expected octet-train beside octet", program);
  }
  if (c.device != DeviceType::cuda) return;
  const ProgramResult said = run_program({program, "--version"}, 60);
  const std::string devices = devices_of(said.out);
  if (!said.succeeded() || devices.empty()) {
    notes.push_back(fmt::format("not checked: program: {} --version does not say what it was built for", program));
  } else if (devices.find("cuda") == std::string::npos) {
    const Error wrong =
        usage_error("submit",
                    "{}: was built for {} alone, and {} has GPUs; expected a build of the preset cuda (octet-train "
                    "--version)",
                    program, devices, p.name);
    if (!dry_run) throw wrong;
    notes.push_back(fmt::format("without --dry-run this is refused: program: {}", wrong.what()));
  }
}

/// Throws what a check throws, or notes it where a dry run goes on without. What the ranks of the job would agree on is
/// true of the run, wherever it is asked.
template <typename Check>
void check_where_it_is(bool dry_run, const char* what, std::vector<std::string>& notes, const Check& check) {
  try {
    check();
  } catch (const Error& error) {
    if (!dry_run || error.agreed()) throw;
    notes.push_back(fmt::format("not checked: {}: {}", what, error.what()));
  }
}

}  // namespace

std::vector<std::string> check_submission(const CommandLine& run, const SubmitOptions& options,
                                          const ClusterProfile& profile, const JobScript& job) {
  const RunConfig& config = run.config;
  check_nodes(options, profile);
  check_time(options, profile, job.lead_seconds);
  check_cluster_device(config, profile);
  check_gpu_type(run, profile);
  check_resuming(config, options);
  check_not_finished(config);
  const std::int64_t ranks = options.nodes * profile.ranks_per_node();
  const RunConfig resolved = laid_out(config, ranks, run.origins);
  const MeshShape mesh = mesh_shape(resolved.parallel);
  if (profile.ranks_per_node() % mesh.tp != 0) {
    throw usage_error(
        "submit", "parallel.tp = {}: expected a divisor of the {} ranks of a node, which tensor parallelism stays in",
        mesh.tp, profile.ranks_per_node());
  }
  log::info("layout: {} nodes x {} ranks = {}", options.nodes, profile.ranks_per_node(), layout_text(mesh));
  const NextStart start = next_start(resolved);
  std::vector<std::string> notes;
  check_memory(resolved, mesh, profile, nccl_variables(profile, job.environment), notes);
  check_tuner_environment(config.nccl, value_in_job(profile, job.environment, "OCTET_TUNING_FILE"),
                          value_in_job(profile, job.environment, "NCCL_TUNER_PLUGIN"));
  check_where_it_is(options.dry_run, "program", notes,
                    [&] { check_program(config, profile, job.octet_train, options.dry_run, notes); });
  std::optional<TokenizerIdentity> tokenizer;
  check_where_it_is(options.dry_run, "data", notes, [&] { tokenizer = check_data(start); });
  check_where_it_is(options.dry_run, "init.from", notes, [&] { check_weights(start, tokenizer); });
  check_where_it_is(options.dry_run, "cuda.gemm_plans", notes, [&] { check_algorithm_file(resolved, run.origins); });
  check_where_it_is(options.dry_run, "nccl.tuning_file", notes, [&] { check_tuning_file(resolved, profile); });
  const FileSystem* files = profile.file_system_of(config.run_dir);
  if (files != nullptr && !files->advice.empty()) log::info("{} is {}: {}", files->path, files->kind, files->advice);
  return notes;
}

}  // namespace octet::submit
