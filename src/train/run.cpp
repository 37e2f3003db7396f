#include "src/train/run.h"

#include <chrono>
#include <cmath>
#include <csignal>
#include <fstream>

#include "src/base/log.h"
#include "src/comm/watchdog.h"
#include "src/train/memory_plan.h"
#include "src/train/run_log.h"
#include "src/train/stop_signal.h"

namespace octet {
namespace {

bool validates_after(const RunConfig& c, const Trainer& trainer, std::int64_t step, bool last) {
  if (!trainer.has_validation()) return false;
  return last || (c.train.validate_every > 0 && step % c.train.validate_every == 0);
}

bool logs(const RunConfig& c, std::int64_t step, bool last) {
  return step == 1 || last || step % c.train.log_every == 0;
}

/// Steps until the end, a stop signal or a bad step. Returns the exit code. `done` counts finished steps.
int train(const RunConfig& config, Trainer& trainer, RunLog& log, const MemoryPlan& plan, std::int64_t& done) {
  const StopSignal stop;
  for (std::int64_t step = 1; step <= config.train.steps; ++step) {
    const PhaseScope phase(step == 1 ? Phase::start : Phase::step);
    const auto start = std::chrono::steady_clock::now();
    const StepResult result = trainer.train_step(step, stop);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const bool last = step == config.train.steps || result.stop_signal != 0 || result.skipped;

    std::optional<double> validation_loss;
    if (!result.skipped && validates_after(config, trainer, step, step == config.train.steps)) {
      validation_loss = trainer.validate();
    }
    log.non_finite(step, result);
    if (logs(config, step, last) || validation_loss) log.step(step, result, seconds, validation_loss);
    if (step == 1) log.memory(plan);

    if (result.skipped || (validation_loss && !std::isfinite(*validation_loss))) {
      const int code = static_cast<int>(ExitCode::non_finite);
      done = result.skipped ? step - 1 : step;
      log.end("failed",
              result.skipped ? fmt::format("the gradient norm of step {} is not finite; no weight was changed", step)
                             : fmt::format("the validation loss after step {} is not finite", step),
              code, done);
      return code;
    }
    done = step;
    if (result.stop_signal != 0 && step < config.train.steps) {
      const bool interrupt = result.stop_signal == SIGINT;
      const int code = static_cast<int>(interrupt ? ExitCode::interrupted : ExitCode::terminated);
      log.end("stopped", interrupt ? "SIGINT" : "SIGTERM", code, step);
      return code;
    }
  }
  log.end("finished", "all steps done", 0, config.train.steps);
  return 0;
}

void write_trace_file(const Traces& traces, const std::string& path) {
  std::ofstream file(path);
  if (traces.communication != nullptr) file << traces.communication->json_lines();
  if (traces.gemms != nullptr) file << traces.gemms->json_lines();
  if (!file.flush()) throw internal_error("train", "{}: cannot be written", path);
}

}  // namespace

int run_training(const RunConfig& config, const RunEnvironment& environment) {
  const MeshShape& shape = environment.mesh.shape();
  const std::int64_t per_rank = config.train.global_batch / environment.mesh.dp().size();
  const MemoryPlan plan = plan_memory(
      {.settings = llama_settings(config),
       .mesh = shape,
       .fsdp = fsdp_options(config, shape.dp_shard),
       .micro_batches = per_rank / config.train.micro_batch,
       .communication = environment.mesh.dp_shard().scratch_bytes() + environment.mesh.dp_replicate().scratch_bytes()},
      environment.stream);
  const bool shared_memory = environment.stream.device().type() == DeviceType::cpu;
  check_fits(plan, environment.stream.device(), shared_memory ? environment.ranks_on_node : 1);

  Trainer trainer(config, environment.mesh, environment.stream, environment.traces.gemms);
  RunLog log(config, environment,
             make_run_directory(config, environment.config_name, environment.resolved_yaml, environment.mesh.world()));
  log.start(plan, trainer);
  std::int64_t done = 0;
  const auto write_traces = [&] {
    if (config.comm.trace) write_trace_file(environment.traces, log.directory().trace(environment.mesh.world().rank()));
  };
  try {
    const int code = train(config, trainer, log, plan, done);
    write_traces();
    return code;
  } catch (const std::exception& e) {
    const auto* error = dynamic_cast<const Error*>(&e);
    log.fail(e.what(), error == nullptr ? ExitCode::internal : error->code(), done);
    write_traces();  // what led here is what one wants to see
    throw;
  }
}

}  // namespace octet
