#include "src/train/loop.h"

#include <chrono>
#include <cmath>
#include <csignal>

#include "src/comm/watchdog.h"
#include "src/train/replica_check.h"
#include "src/train/stop_signal.h"

namespace octet {
namespace {

bool is_due(std::int64_t every, std::int64_t step) {
  return every > 0 && step % every == 0;
}

bool logs(const RunConfig& c, std::int64_t step, bool last) {
  return step == 1 || last || is_due(c.train.log_every, step);
}

/// What is known after a step.
struct Outcome {
  StepResult result;
  std::optional<std::string> replica_difference;
  std::optional<double> validation_loss;

  bool bad() const { return result.skipped || replica_difference; }
};

struct Ending {
  const char* state;
  std::string reason;
  int exit_code;
};

Ending failed(ExitCode code, std::string reason) {
  return {"failed", std::move(reason), static_cast<int>(code)};
}

/// Why the run ends here, if it does; the same on every rank.
std::optional<Ending> ending_of(const RunConfig& config, std::int64_t step, const Outcome& outcome) {
  if (outcome.result.skipped) {
    return failed(ExitCode::non_finite,
                  fmt::format("the gradient norm of step {} is not finite; no weight was changed", step));
  }
  if (outcome.replica_difference) {
    return failed(ExitCode::unhealthy, fmt::format("the fp32 master weights of replicas differ after step {}: {}", step,
                                                   *outcome.replica_difference));
  }
  if (outcome.validation_loss && !std::isfinite(*outcome.validation_loss)) {
    return failed(ExitCode::non_finite, fmt::format("the validation loss after step {} is not finite", step));
  }
  if (step == config.train.steps) return Ending{"finished", "all steps done", 0};
  if (outcome.result.stop_signal == 0) return std::nullopt;
  const bool interrupt = outcome.result.stop_signal == SIGINT;
  return Ending{"stopped", interrupt ? "SIGINT" : "SIGTERM",
                static_cast<int>(interrupt ? ExitCode::interrupted : ExitCode::terminated)};
}

}  // namespace

int train_steps(const RunConfig& config, const RunEnvironment& environment, Trainer& trainer, RunLog& log,
                const MemoryPlan& plan, std::int64_t& done) {
  const StopSignal stop;
  ShardedModel& model = trainer.model();
  for (std::int64_t step = 1;; ++step) {
    const PhaseScope phase(step == 1 ? Phase::start : Phase::step);
    const auto start = std::chrono::steady_clock::now();
    Outcome outcome{.result = trainer.train_step(step, stop), .replica_difference = {}, .validation_loss = {}};
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

    if (!outcome.bad() && is_due(config.parallel.check_replicas_every, step)) {
      outcome.replica_difference = find_replica_difference(model.parameters(), model.master(), environment.mesh,
                                                           environment.stream, environment.node);
    }
    const bool all_done = step == config.train.steps;
    if (!outcome.bad() && trainer.has_validation() && (all_done || is_due(config.train.validate_every, step))) {
      outcome.validation_loss = trainer.validate();
    }
    const std::optional<Ending> ending = ending_of(config, step, outcome);
    log.non_finite(step, outcome.result);
    if (logs(config, step, ending.has_value()) || outcome.validation_loss) {
      log.step(step, outcome.result, seconds, outcome.validation_loss);
    }
    if (step == 1) log.memory(plan);

    done = outcome.result.skipped ? step - 1 : step;
    if (ending) {
      log.end(ending->state, ending->reason, ending->exit_code, done);
      return ending->exit_code;
    }
  }
}

}  // namespace octet
