#include "src/train/run/run.h"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "src/base/files.h"
#include "src/base/log.h"
#include "src/base/replace_file.h"
#include "src/base/seconds_since.h"
#include "src/comm/control_exchange.h"
#include "src/comm/operation.h"
#include "src/model/step_costs.h"
#include "src/run_config/options/option_texts.h"
#include "src/run_config/options/run_options.h"
#include "src/train/algorithms/library_algorithms.h"
#include "src/train/health/device_health.h"
#include "src/train/plan/less_memory.h"
#include "src/train/plan/memory_plan.h"
#include "src/train/plan/nccl_variables.h"
#include "src/train/run/loop.h"
#include "src/train/run/run_banner.h"
#include "src/train/run/run_log.h"
#include "src/train/run/shared_warnings.h"
#include "src/train/run/wall_clock.h"
#include "src/train/start/open_data.h"
#include "src/train/start/resume.h"
#include "src/train/start/token_ranges.h"
#include "src/train/start/tokenizer_record.h"
#include "src/train/step/run_settings.h"

namespace octet {
namespace {

void write_trace_file(const Traces& traces, const OwnerMark& owner, const std::string& path) {
  owner.verify();
  std::string text;
  if (traces.communication != nullptr) text += traces.communication->json_lines();
  if (traces.gemms != nullptr) text += traces.gemms->json_lines();
  replace_file_or_warn(path, text);
}

/// Written as late as this, since a start that is refused is to leave no such file.
void write_bindings(const RankContext& context) {
  const std::string path = context.directory.bindings();
  if (context.control.rank() != 0 || context.bindings.empty()) return;
  replace_file_or_warn(path, context.bindings);
}

/// config.yaml, with the init.from of the checkpoint that the run goes on from.
std::string config_text(const RunConfig& configured, const RunConfig& config, const RankContext& context) {
  if (configured.init.from == config.init.from) return context.resolved_yaml;
  RunConfig kept = configured;
  kept.init.from = config.init.from;
  return to_yaml(kept);
}

/// Writes what the directory of a run holds from its start on.
void fill_run_directory(const RunConfig& configured, const RunConfig& config, const RankContext& context,
                        const Trainer& trainer, const StartingPoint& from) {
  const RunDirectory& directory = context.directory;
  write_run_directory(directory, config_text(configured, config, context), config.model, context.control);
  write_bindings(context);
  const std::string& made_data = config.data.history.tokenizer;
  if (context.control.rank() != 0 || made_data.empty()) return;
  keep_tokenizer(directory, trainer.sampler(), read_tokenizer_identity(made_data, "data_history.tokenizer"),
                 {from.checkpoint, config.init.from});
}

/// A run that is about to take its next step: what it has been given for that.
struct StartedRun {
  const RunConfig& config;
  const MemoryPlan& plan;
  const std::string& recompute_table;  ///< made before the trainer took its memory
  Trainer& trainer;
  const DataIdentity& identity;
  const StartingPoint& from;
  FailureStatus& failure;  ///< of the run's directory
};

/// From its next step to the last, with the log, checkpoints and profiler that its steps have. Returns the exit code.
int run_steps(const StartedRun& run, const RankContext& context, const StopSignal& signal) {
  const RunConfig& config = run.config;
  Communicator& control = context.control;
  const RunDirectory& directory = context.directory;
  RunLog log(config, context, directory);
  run.failure.done() = run.from.step;
  DeviceHealth health(config.train.health_seconds, context.stream.device().pci_bus_id());
  const auto write_traces = [&] {
    if (config.comm.trace) write_trace_file(context.traces, directory.owner, directory.trace(control.rank()));
  };
  const auto after_report = [&] {
    log.tell_lost_metrics();
    write_traces();        // what led here is what one wants to see
    health.look_now(2.0);  // an Xid says why CUDA failed
  };
  std::optional<Checkpointing> checkpoints;  // out here, so that it still stands when its error is reported
  std::optional<Profiler> profiler;
  const auto steps = [&] {
    log_run_banner(config, context, run.plan, run.recompute_table, run.trainer);
    log.begin(run.from);
    run.failure.begin(control);  // whatever fails from here on is told in the directory
    // Before the log is cut, which needs room: it waits until surplus checkpoints are gone.
    checkpoints.emplace(config, context, run.trainer, log, run.from);
    log.open();
    log.set_data(run.trainer.sampler(), run.identity.bytes_per_token);
    const StopRequest stop(signal, WallClock(*parse_wall_time(config.train.max_wall_time)),
                           control.rank() == 0 ? directory.stop_file() : "");
    report_unwatched(health, control, context.node);
    profiler.emplace(config, context, log.directory(), run.from.step);
    tell_shared_warnings(control);
    const int code = train_steps({.config = config,
                                  .context = context,
                                  .trainer = run.trainer,
                                  .log = log,
                                  .checkpoints = *checkpoints,
                                  .profiler = *profiler,
                                  .stop = stop,
                                  .failure = run.failure,
                                  .plan = run.plan});
    enter(RunPhase::end);
    write_traces();
    return code;
  };
  return run_reporting_failure(context.failure_context(), steps, after_report);
}

/// The run with what its memory plan decides, and that plan, before it takes any memory. Usage error where this rank
/// does not fit. Collective.
FittedRun plan_memory(const RunConfig& configured, const RankContext& context) {
  const MeshShape& shape = context.mesh.shape();
  Device& device = context.stream.device();
  const auto ranks_on_gpu = static_cast<int>(configured.nccl.ranks_per_gpu);
  const auto on_all_ranks = [&](const MemoryPlan& plan) {
    const bool lacks = !fits(plan, device, context.ranks_on_node, ranks_on_gpu);
    return largest(lacks ? 1 : 0, context.control) == 0;
  };
  RunConfig planned = configured;
  planned.nccl.variables = nccl_variables();
  FittedRun fitted = fit_run(std::move(planned), shape, context.mesh.world().rank(), context.ranks_on_node,
                             device.type(), on_all_ranks);
  const RunConfig& config = fitted.config;
  check_fits(
      fitted.plan, device, context.ranks_on_node, ranks_on_gpu,
      ways_to_less_memory(config, shape, context.ranks_on_node, device.type() == DeviceType::cpu ? "nodes" : "ranks"));
  if (context.control.rank() == 0 &&
      config.float8.keep_transposed_weights != configured.float8.keep_transposed_weights &&
      config.float8.keep_transposed_weights == AutoBool::no) {
    log::info("8-bit weights: memory has no room for transposed copies, every micro-batch makes its own");
  }
  return fitted;
}

}  // namespace

int run_training(const RunConfig& configured, const RankContext& context, FailureStatus& failure,
                 const StopSignal& signal) {
  const log::SharedWarnings shared;
  FittedRun fitted = plan_memory(configured, context);
  RunConfig& config = fitted.config;
  const std::string recompute = recompute_table(llama_settings(config, context.mesh.tp().rank()), context.stream);
  std::optional<Trainer> trainer;
  // run_steps() reports what fails in its steps by itself, while log, checkpoints and profiler still stand.
  return run_reporting_failure(context.failure_context(), [&] {
    std::unique_ptr<Sampler> sampler = open_data(config, context.control);
    choose_library_algorithms(config, context);  // while the device's memory is free
    const auto begin = std::chrono::steady_clock::now();
    trainer.emplace(config, std::move(sampler), context.mesh, context.control, context.stream, context.traces.gemms);
    context.stream.synchronize();  // the weights are made there
    log::info("buffers taken and weights made in {:.2f} s", seconds_since(begin));
    const DataIdentity identity = identify_data(trainer->sampler(), context.control);
    config.data.history.tokenizer = tokenizer_text(identity);
    check_token_ranges(trainer->sampler(), context.directory, context.control);
    const StartingPoint from = resume(config, context, context.directory, *trainer);
    fill_run_directory(configured, config, context, *trainer, from);
    return run_steps({.config = config,
                      .plan = fitted.plan,
                      .recompute_table = recompute,
                      .trainer = *trainer,
                      .identity = identity,
                      .from = from,
                      .failure = failure},
                     context, signal);
  });
}

}  // namespace octet
