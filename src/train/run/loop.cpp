#include "src/train/run/loop.h"

#include <algorithm>
#include <chrono>
#include <functional>

#include "src/base/log.h"
#include "src/base/seconds_since.h"
#include "src/comm/control_exchange.h"
#include "src/comm/operation.h"
#include "src/train/health/replica_check.h"
#include "src/train/health/slow_ranks.h"
#include "src/train/run/ending.h"
#include "src/train/run/shared_warnings.h"
#include "src/train/run/step_queue.h"

namespace octet {
namespace {

bool is_due(std::int64_t every, std::int64_t step) {
  return every > 0 && step % every == 0;
}

bool logs(const RunConfig& c, std::int64_t step, bool last) {
  return step == 1 || last || is_due(c.train.log_every, step);
}

/// What a slow rank is on its node: a stage that costs more than the others is slow too.
std::string place_of(const RankContext& context) {
  const int ranks = context.mesh.shape().pp, rank = context.mesh.coordinates().pp;
  return ranks == 1 ? "" : fmt::format(", rank {} of {} of its pipeline,", rank, ranks);
}

/// The loop's state between two steps.
class Loop {
 public:
  explicit Loop(const LoopParts& parts)
      : parts_(parts),
        done_(parts.failure.done()),
        first_(done_ + 1),
        late_(reads_late(parts.config)),
        steps_(parts.trainer, parts.context.control, late_),
        slow_ranks_(parts.config.train.slow_rank_every, parts.config.train.slow_rank_factor, parts.context.waits,
                    parts.context.control, parts.context.node, place_of(parts.context)) {}

  int run() {
    if (first_ > parts_.config.train.steps) {
      parts_.checkpoints.finish_pending();  // fewer may have to be kept than an earlier start kept
      take_stop_file_away();
      write_down({.state = "finished", .reason = "all steps done", .exit_code = ExitCode::finished});
      return 0;
    }
    if (const std::optional<int> exit_code = end_unbegun()) return *exit_code;
    parts_.trainer.clock().mark(Activity::wait);  // the run's time begins
    for (std::int64_t step = first_;; ++step) {
      const RunPhaseScope phase(done_ < first_ ? RunPhase::start : RunPhase::step);
      const auto start = std::chrono::steady_clock::now();
      parts_.profiler.begin_step(step);
      StepQueue::Progress progress = advance(step);
      for (StepResult& result : progress.results) {
        if (const std::optional<int> exit_code = handle(result, progress, step)) return *exit_code;
      }
      parts_.profiler.end_step(step);
      if (step > first_ + (late_ ? 1 : 0)) slowest_ = std::max(slowest_, seconds_since(start));
    }
  }

 private:
  /// A run that is told to end while it starts has nothing to save, and may have no time for a step: after a scancel,
  /// Slurm kills it once KillWait is over. The other requests to end (SIGUSR1, the time limit, the file `stop`) leave
  /// it time for a step, so that every start makes progress.
  std::optional<int> end_unbegun() {
    const auto own = static_cast<int>(parts_.stop.urgent_reason());
    const auto stop = static_cast<StopReason>(largest(own, parts_.context.control));
    if (stop == StopReason::none) return std::nullopt;
    parts_.checkpoints.finish_pending();
    return leave(stopped_by(stop));
  }

  bool is_last(std::int64_t step) const { return step == parts_.config.train.steps; }
  bool validates(std::int64_t step) const {
    return parts_.trainer.has_validation() && (is_last(step) || is_due(parts_.config.train.validate_every, step));
  }

  /// A step that is followed by what needs its result, or the weights at rest, is waited for.
  StepQueue::Progress advance(std::int64_t step) {
    const bool drain = is_last(step) || checkpoint_due_ || validates(step) ||
                       is_due(parts_.config.parallel.check_replicas_every, step);
    // With results that come late one step more is under way when a stop is decided.
    const double margin = (late_ ? 2 : 1) * slowest_;
    const auto requests = [&] {
      return Requests{.stop = parts_.stop.reason(margin + parts_.checkpoints.expected_seconds()),
                      .checkpoint = parts_.checkpoints.due(step)};
    };
    StepQueue::Progress progress = steps_.advance(step, requests, drain);
    checkpoint_due_ = checkpoint_due_ || progress.requests.checkpoint;
    return progress;
  }

  /// Reports a step and does what comes behind it, while `launched` is the newest step. Returns the exit code where the
  /// run ends with it.
  std::optional<int> handle(StepResult& result, const StepQueue::Progress& progress, std::int64_t launched) {
    const bool at_rest = progress.drained && result.step == launched;
    const StopReason stop = at_rest ? progress.requests.stop : StopReason::none;
    const Outcome outcome = at_rest ? examine(result, stop) : Outcome{result};
    const std::optional<Ending> ending = ending_of(parts_.config, outcome, stop);
    report(outcome, ending.has_value());
    done_ = result.skipped ? result.step - 1 : result.step;
    if (ending) {
      parts_.profiler.end_run(launched);
      return end(*ending, result);
    }
    slow_ranks_.step(result.step);
    if (parts_.checkpoints.on()) during_checkpoint([&] { parts_.checkpoints.poll(); });
    if (at_rest) save(result);
    return std::nullopt;
  }

  /// Says whether anything reads the state after the step, and so has to come after its update.
  bool state_is_read(std::int64_t step, StopReason stop) const {
    return is_last(step) || stop != StopReason::none || checkpoint_due_ || validates(step) ||
           compares_replicas(step, stop);
  }

  /// Does all that looks at the state after a step. The time for it counts in the step's line of the metrics.
  Outcome examine(StepResult& result, StopReason stop) {
    Outcome outcome{result};
    if (state_is_read(result.step, stop)) parts_.trainer.join_update();
    if (!outcome.bad() && compares_replicas(result.step, stop)) {
      outcome.replica_difference = find_replica_difference(
          parts_.trainer.model().all_parameters(), parts_.trainer.model().parameters(), parts_.trainer.model().master(),
          parts_.context.mesh.shape(), parts_.context.control, parts_.context.stream, parts_.context.node);
    }
    if (!outcome.bad() && validates(result.step)) outcome.validation_loss = parts_.trainer.validate();
    result.spent += parts_.trainer.clock().take();
    return outcome;
  }

  /// Pieces that ranks have in common are saved once: a checkpoint would hide that they differ.
  bool compares_replicas(std::int64_t step, StopReason stop) const {
    const std::int64_t every = parts_.config.parallel.check_replicas_every;
    const bool tied_over_stages = parts_.config.model.tied_embedding && parts_.context.mesh.shape().pp > 1;
    const bool last = is_last(step) || stop != StopReason::none;
    const bool saves = parts_.checkpoints.on() && (checkpoint_due_ || last);
    return is_due(every, step) || (saves && (every > 0 || tied_over_stages));
  }

  void report(const Outcome& outcome, bool last) {
    const HostSpan span("log");
    const StepResult& result = outcome.result;
    RunLog& log = parts_.log;
    log.log_non_finite(result);
    log.log_data_changes(result.step);
    log.warn_if_no_targets(result.step, result.work);
    log.add_time(result.spent, 1, result.work);
    if (logs(parts_.config, result.step, last) || outcome.validation_loss)
      log.log_step(result, outcome.validation_loss);
    if (result.step == first_) log.log_memory(parts_.plan);
  }

  void during_checkpoint(const std::function<void()>& work) {
    parts_.trainer.clock().during(Activity::checkpoint, work);
  }

  /// A checkpoint that is due where something was not finite is taken after the next step that is whole.
  void save(const StepResult& result) {
    if (!checkpoint_due_ || !result.is_finite()) return;
    during_checkpoint([&] { parts_.checkpoints.start(result.step, result.loss); });
    checkpoint_due_ = false;
  }

  int end(const Ending& ending, const StepResult& result) {
    while (parts_.trainer.under_way() > 0)
      parts_.log.add_time(parts_.trainer.collect().spent, 0);  // after one that was skipped
    const bool keeps = ending.exit_code == ExitCode::finished || ending.stop != StopReason::none;
    const bool worth = keeps && result.is_finite();
    if (keeps && !worth && parts_.checkpoints.on() && log::rank() == 0) {
      log::warning("the state after step {} is not saved: something in the step was NaN or infinite", done_.load());
    }
    during_checkpoint(
        [&] { worth ? parts_.checkpoints.finish(done_, result.loss) : parts_.checkpoints.finish_pending(); });
    parts_.log.add_time(parts_.trainer.clock().take(), 0);
    return leave(ending);
  }

  /// Writes down how the run ends, when what was worth it has been saved. Returns the exit code.
  int leave(Ending ending) {
    if (ending.exit_code == ExitCode::finished || ending.stop != StopReason::none) take_stop_file_away();
    if (ending.stop != StopReason::none && parts_.checkpoints.on() && !parts_.checkpoints.newest().empty()) {
      ending.exit_code = ExitCode::resumable;
    }
    tell_shared_warnings(parts_.context.control);
    write_down(ending);
    parts_.checkpoints.wait_for_view();
    return static_cast<int>(ending.exit_code);
  }

  void write_down(const Ending& ending) {
    parts_.log.end(ending.state, ending.reason, static_cast<int>(ending.exit_code), done_);
    parts_.failure.end(parts_.context.control);
  }

  /// A run that has come to its end, by whatever way, leaves no request for one to the next start.
  void take_stop_file_away() {
    if (log::rank() != 0) return;           // which alone looks for it
    parts_.log.directory().owner.verify();  // it may be meant for another
    parts_.stop.honoured();
  }

  const LoopParts& parts_;
  std::atomic<std::int64_t>& done_;
  const std::int64_t first_;
  const bool late_;
  StepQueue steps_;
  SlowRankWatch slow_ranks_;
  double slowest_ = 0;           ///< seconds of the slowest step but the first, with what followed it
  bool checkpoint_due_ = false;  ///< the same on every rank
};

}  // namespace

int train_steps(const LoopParts& parts) {
  return Loop(parts).run();
}

}  // namespace octet
