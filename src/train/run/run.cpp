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
void write_bindings(const RunEnvironment& environment) {
  const std::string path = environment.directory.bindings();
  if (environment.control.rank() != 0 || environment.bindings.empty()) return;
  replace_file_or_warn(path, environment.bindings);
}

/// config.yaml, with the init.from of the checkpoint that the run goes on from.
std::string config_text(const RunConfig& configured, const RunConfig& config, const RunEnvironment& environment) {
  if (configured.init.from == config.init.from) return environment.resolved_yaml;
  RunConfig kept = configured;
  kept.init.from = config.init.from;
  return to_yaml(kept);
}

/// Writes what the directory of a run holds from its start on.
void fill_run_directory(const RunConfig& configured, const RunConfig& config, const RunEnvironment& environment,
                        const Trainer& trainer, const StartingPoint& from) {
  const RunDirectory& directory = environment.directory;
  write_run_directory(directory, config_text(configured, config, environment), config.model, environment.control);
  write_bindings(environment);
  const std::string& made_data = config.data.history.tokenizer;
  if (environment.control.rank() != 0 || made_data.empty()) return;
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
};

/// From its next step to the last.
int train(const StartedRun& run, const RunEnvironment& environment, const StopSignal& signal) {
  const RunConfig& config = run.config;
  Communicator& control = environment.control;
  const RunDirectory& directory = environment.directory;
  RunLog log(config, environment, directory);
  FailureStatus& failure = *environment.failure;
  failure.done() = run.from.step;
  DeviceHealth health(config.train.health_seconds, environment.stream.device().pci_bus_id());
  const auto write_traces = [&] {
    if (config.comm.trace) write_trace_file(environment.traces, directory.owner, directory.trace(control.rank()));
  };
  const auto after_report = [&] {
    log.tell_lost_metrics();
    write_traces();        // what led here is what one wants to see
    health.look_now(2.0);  // an Xid says why CUDA failed
  };
  std::optional<Checkpointing> checkpoints;  // out here, so that it still stands when its error is reported
  std::optional<Profiler> profiler;
  const auto steps = [&] {
    log_run_banner(config, environment, run.plan, run.recompute_table, run.trainer);
    log.begin(run.from);
    failure.begin(control);  // whatever fails from here on is told in the directory
    // Before the log is cut, which needs room: it waits until surplus checkpoints are gone.
    checkpoints.emplace(config, environment, run.trainer, log, run.from);
    log.open();
    log.set_data(run.trainer.sampler(), run.identity.bytes_per_token);
    const StopRequest stop(signal, WallClock(*parse_wall_time(config.train.max_wall_time)),
                           control.rank() == 0 ? directory.stop_file() : "");
    report_unwatched(health, control, environment.node);
    profiler.emplace(config, environment, log.directory(), run.from.step);
    tell_shared_warnings(control);
    const int code = train_steps({.config = config,
                                  .environment = environment,
                                  .trainer = run.trainer,
                                  .log = log,
                                  .checkpoints = *checkpoints,
                                  .profiler = *profiler,
                                  .stop = stop,
                                  .failure = failure,
                                  .plan = run.plan});
    enter(RunPhase::end);
    write_traces();
    return code;
  };
  return run_reporting_failure(environment.failure_context(), steps, after_report);
}

}  // namespace

int run_training(const RunConfig& configured, const RunEnvironment& environment, const StopSignal& signal) {
  const log::SharedWarnings shared;
  const MeshShape& shape = environment.mesh.shape();
  Device& device = environment.stream.device();
  const auto ranks_on_gpu = static_cast<int>(configured.nccl.ranks_per_gpu);
  const auto on_all_ranks = [&](const MemoryPlan& plan) {
    const bool lacks = !fits(plan, device, environment.ranks_on_node, ranks_on_gpu);
    return largest(lacks ? 1 : 0, environment.control) == 0;
  };
  RunConfig planned = configured;
  planned.nccl.variables = nccl_variables();
  FittedRun fitted = fit_run(std::move(planned), shape, environment.mesh.world().rank(), environment.ranks_on_node,
                             device.type(), on_all_ranks);
  RunConfig& config = fitted.config;
  const MemoryPlan& plan = fitted.plan;
  check_fits(plan, device, environment.ranks_on_node, ranks_on_gpu,
             ways_to_less_memory(config, shape, environment.ranks_on_node,
                                 device.type() == DeviceType::cpu ? "nodes" : "ranks"));
  if (environment.control.rank() == 0 &&
      config.float8.keep_transposed_weights != configured.float8.keep_transposed_weights &&
      config.float8.keep_transposed_weights == AutoBool::no) {
    log::info("8-bit weights: memory has no room for transposed copies, every micro-batch makes its own");
  }

  const std::string recompute =
      recompute_table(llama_settings(config, environment.mesh.tp().rank()), environment.stream);
  std::optional<Trainer> trainer;
  // train() reports what fails in its steps by itself, while log, checkpoints and profiler still stand.
  return run_reporting_failure(environment.failure_context(), [&] {
    std::unique_ptr<Sampler> sampler = open_data(config, environment.control);
    choose_library_algorithms(config, environment);  // while the device's memory is free
    const auto begin = std::chrono::steady_clock::now();
    trainer.emplace(config, std::move(sampler), environment.mesh, environment.control, environment.stream,
                    environment.traces.gemms);
    environment.stream.synchronize();  // the weights are made there
    log::info("buffers taken and weights made in {:.2f} s", seconds_since(begin));
    const DataIdentity identity = identify_data(trainer->sampler(), environment.control);
    config.data.history.tokenizer = tokenizer_text(identity);
    check_token_ranges(trainer->sampler(), environment.directory, environment.control);
    const StartingPoint from = resume(config, environment, environment.directory, *trainer);
    fill_run_directory(configured, config, environment, *trainer, from);
    return train({.config = config,
                  .plan = plan,
                  .recompute_table = recompute,
                  .trainer = *trainer,
                  .identity = identity,
                  .from = from},
                 environment, signal);
  });
}

}  // namespace octet
