#include "src/train/run/checkpointing.h"

#include <algorithm>

#include "src/base/log.h"
#include "src/base/seconds_since.h"
#include "src/comm/agreement.h"
#include "src/comm/control_exchange.h"
#include "src/comm/operation.h"
#include "src/profile/timeline.h"
#include "src/run_config/options/option_texts.h"
#include "src/run_config/options/run_options.h"
#include "src/train/step/model_state.h"

namespace octet {
namespace {

using Kind = checkpoint::Interval::Kind;

std::string text_of(const checkpoint::Interval& interval) {
  return interval.kind == Kind::steps ? fmt::format("{} steps", interval.steps)
                                      : fmt::format("{:.1f} min", interval.seconds / 60);
}

/// interval = off alone makes a run save nothing. The other options of checkpoint may stay in the configuration, but
/// the log says that they have no effect.
void tell_what_is_unused(const CheckpointConfig& c) {
  const CheckpointConfig none;
  std::string unused;
  if (c.keep != none.keep) unused += " keep";
  if (c.keep_every != none.keep_every) unused += " keep_every";
  if (c.writers_per_node != none.writers_per_node) unused += " writers_per_node";
  if (c.failure_gpu_hours != none.failure_gpu_hours) unused += " failure_gpu_hours";
  if (!unused.empty()) log::info("checkpoint.interval = off: these options of checkpoint have no effect:{}", unused);
}

}  // namespace

Checkpointing::Checkpointing(const RunConfig& config, const RankContext& context, Trainer& trainer, RunLog& log,
                             const StartingPoint& from)
    : config_(config),
      context_(context),
      log_(log),
      rank0_(context.control.rank() == 0),
      interval_(interval_of(config.checkpoint, context.control.size())),
      max_age_(max_age_of(config.checkpoint)),
      first_step_(from.step + 1),
      last_saved_(from.checkpoint.empty() ? -1 : from.step),
      times_(from.step),
      newest_(from.checkpoint) {
  if (interval_.kind == Kind::off) {
    tell_what_is_unused(config.checkpoint);
    return;
  }
  state_ = {.seed = config.seed,
            .data_fingerprint = trainer.sampler().fingerprint(),
            .config = stored_yaml(config),
            .layout = layout_text(context.mesh.shape()),
            .program = "octet " OCTET_VERSION};
  pieces_ = held_pieces(trainer.model());
  const RunPhaseScope phase(RunPhase::checkpoint);
  const OwnerMark& owner = log.directory().owner;
  saver_ = std::make_unique<checkpoint::Saver>(
      checkpoint::SaverOptions{.root = log.directory().checkpoints(),
                               .keep_last = static_cast<int>(config.checkpoint.keep),
                               .keep_every = config.checkpoint.keep_every,
                               .known = from.verdicts,
                               .restored = from.checkpoint.empty() ? -1 : from.step,
                               .writers_per_node = *parse_writers(config.checkpoint.writers_per_node),
                               .owner = {.name = owner.name, .verify = [owner] { owner.verify(); }}},
      context.control, context.stream);
  saver_->prepare(pieces_);
}

bool Checkpointing::may_judge(const checkpoint::Interval& interval) const {
  return rank0_ || interval.kind == Kind::steps;
}

bool Checkpointing::due(std::int64_t step) const {
  if (!on()) return false;
  if (config_.checkpoint.test_write && step == first_step_) return true;
  if (failing_ && !saver_->busy() && may_judge(oldest()) && is_too_old(times_.age(step), oldest())) return true;
  if (!may_judge(interval_)) return false;
  return checkpoint::is_due(interval_, cost_,
                            {.step = step, .last_saved = last_saved_, .seconds_since_save = seconds_since(saved_at_)});
}

std::optional<Error> Checkpointing::attempt(const Call& call) {
  const RunPhaseScope phase(RunPhase::checkpoint);
  const HostSpan span("checkpoint");
  std::optional<checkpoint::SaveReport> report;
  try {
    report = call();
  } catch (const Error& e) {
    if (e.code() == ExitCode::lost_peer) throw;
    last_saved_ = -1;
    return e;
  }
  if (report) committed(*report);
  return std::nullopt;
}

/// Rank 0's clock counts.
void Checkpointing::failed(const Error& error) {
  const checkpoint::Interval limit = oldest();
  const checkpoint::Age age = times_.failed(state_.step);
  const bool proof = config_.checkpoint.test_write && state_.step == first_step_;
  const std::string last = newest_.empty() ? "there is no checkpoint yet" : "the last one stays: " + newest_;
  if (largest(proof || is_too_old(age, limit) ? 1 : 0, context_.control) != 0) {
    throw Error(error.code(),
                fmt::format("{}; {}; {}", error.what(), last,
                            proof ? "checkpoint.test_write asks for storage that works"
                                  : fmt::format("{} older than checkpoint.max_age allows ({})",
                                                newest_.empty() ? "the run's start is" : "it is", text_of(limit))),
                error.agreed());
  }
  failing_ = true;
  if (!rank0_) return;
  const checkpoint::Age now = times_.age(state_.step);
  log::error("{}; {}; saves are tried again at every interval, and training goes on {}", error.what(), last,
             limit.kind == Kind::steps ? fmt::format("until step {}", state_.step - now.steps + limit.steps)
             : limit.kind == Kind::seconds
                 ? fmt::format("for {:.1f} min", std::max(0.0, limit.seconds - now.seconds) / 60)
                 : "without them");
}

void Checkpointing::poll() {
  if (!on()) return;
  if (const std::optional<Error> error = attempt([&] { return saver_->poll(); })) failed(*error);
}

std::optional<Error> Checkpointing::begin(std::int64_t step, double loss, bool last) {
  state_.step = step;
  state_.loss = loss;
  std::optional<Error> error = attempt([&] {
    const auto begin = std::chrono::steady_clock::now();
    last_saved_ = step;
    times_.begun(step);
    together("checkpoints", fmt::format("step {} cannot be saved", step), context_.control, [&] {
      if (rank0_) log_.directory().owner.verify();  // first: what another run has replaced is no fault of the disk
      log_.sync();
    });
    saver_->start(state_, pieces_, last);
    log::info("checkpoint of step {}: started, training stood still for {:.3f} s", step, seconds_since(begin));
    return std::nullopt;
  });
  saved_at_ = std::chrono::steady_clock::now();
  return error;
}

std::optional<Error> Checkpointing::end_former(std::int64_t step) {
  if (rank0_ && saver_->busy()) {
    log::warning("checkpoint of step {} waits: the one of step {} is still being written", step, state_.step);
  }
  return attempt([&] {
    saver_->wait();
    return saver_->poll();
  });
}

void Checkpointing::start(std::int64_t step, double loss) {
  if (!on() || step == last_saved_) return;
  if (const std::optional<Error> error = end_former(step)) failed(*error);
  if (const std::optional<Error> error = begin(step, loss, false)) failed(*error);
}

void Checkpointing::finish(std::int64_t step, double loss) {
  if (!on()) return;
  if (last_saved_ != step) {
    if (const std::optional<Error> error = end_former(step); error && rank0_) log::error("{}", error->what());
  }
  const auto save = [&] {
    std::optional<Error> error;
    if (last_saved_ != step) error = begin(step, loss, true);
    return error ? error : attempt([&] { return saver_->finish(); });
  };
  const std::optional<Error> first = save();
  if (!first) return;
  if (rank0_) log::error("{}; tried once more, since the run ends here", first->what());
  const std::optional<Error> second = save();
  if (!second) return;
  throw Error(second->code(), second->what() + std::string(newest_.empty() ? "" : "; the last one stays: " + newest_),
              second->agreed());
}

void Checkpointing::wait_for_view() const {
  if (!on()) return;
  const RunPhaseScope phase(RunPhase::checkpoint);
  saver_->wait_for_view();
}

void Checkpointing::finish_pending() {
  if (!on()) return;
  const std::optional<Error> error = attempt([&] { return saver_->finish(); });
  if (error && rank0_) log::error("{}", error->what());
}

void Checkpointing::committed(const checkpoint::SaveReport& report) {
  const bool first = cost_.write_seconds == 0;
  cost_ = cost_of(report);
  times_.committed(report.step);
  failing_ = false;
  newest_ = report.path;
  log_.committed(report);
  if (first && interval_.kind == Kind::automatic) {
    log::info("checkpoint.interval auto: every {:.0f} min, by a stall of {:.3f} s and {:.0f} GPU-hours between stops",
              checkpoint::automatic_seconds(interval_, cost_) / 60, cost_.stall_seconds, interval_.failure_gpu_hours);
  }
}

}  // namespace octet
