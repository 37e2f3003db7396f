#include "src/train/checkpointing.h"

#include "checkpoints/agreement.h"
#include "src/base/log.h"
#include "src/comm/watchdog.h"
#include "src/profile/timeline.h"
#include "src/train/checkpoint_interval.h"
#include "src/train/model_state.h"
#include "src/train/schema.h"

namespace octet {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Checkpointing::Checkpointing(const RunConfig& config, const RunEnvironment& environment, Trainer& trainer, RunLog& log,
                             const StartingPoint& from)
    : config_(config),
      environment_(environment),
      log_(log),
      rank0_(environment.control.rank() == 0),
      interval_(interval_of(config.checkpoint, environment.control.size())),
      first_step_(from.step + 1),
      last_saved_(from.checkpoint.empty() ? -1 : from.step),
      newest_(from.checkpoint) {
  if (interval_.kind == checkpoint::Interval::Kind::off) return;
  state_ = {.seed = config.seed,
            .data_fingerprint = trainer.sampler().fingerprint(),
            .config = stored_yaml(config),
            .layout = layout_text(environment.mesh.shape()),
            .program = "octet " OCTET_VERSION};
  pieces_ = held_pieces(trainer.model());
  const PhaseScope phase(Phase::checkpoint);
  const OwnerMark& owner = log.directory().owner;
  saver_ = std::make_unique<checkpoint::Saver>(
      checkpoint::SaverOptions{.root = log.directory().checkpoints(),
                               .keep_last = static_cast<int>(config.checkpoint.keep),
                               .keep_every = config.checkpoint.keep_every,
                               .verified = from.checkpoint.empty() ? std::nullopt : std::optional(from.step),
                               .writers_per_node = *parse_writers(config.checkpoint.writers_per_node),
                               .owner = {.name = owner.name, .verify = [owner] { owner.verify(); }}},
      environment.control, environment.stream);
  saver_->prepare(pieces_);
}

bool Checkpointing::is_timed() const {
  return interval_.kind == checkpoint::Interval::Kind::seconds ||
         interval_.kind == checkpoint::Interval::Kind::automatic;
}

bool Checkpointing::due(std::int64_t step) const {
  if (!on()) return false;
  if (failures_ > 0 && !saver_->busy()) return true;
  if (config_.checkpoint.test_write && step == first_step_) return true;
  if (is_timed() && !rank0_) return false;
  return checkpoint::is_due(interval_, cost_,
                            {.step = step, .last_saved = last_saved_, .seconds_since_save = seconds_since(saved_at_)});
}

void Checkpointing::attempt(const std::function<std::optional<checkpoint::SaveReport>()>& call) {
  const PhaseScope phase(Phase::checkpoint);
  const HostSpan span("checkpoint");
  std::optional<checkpoint::SaveReport> report;
  try {
    report = call();
  } catch (const Error& e) {
    // Storage has its moments; a second one is its state. That a peer is lost is known to this rank alone.
    if (e.code() == ExitCode::lost_peer || ++failures_ > 1) throw;
    if (rank0_) log::error("{} (a second failure in a row ends the run)", e.what());
    failed_step_ = state_.step;
    last_saved_ = -1;
  }
  if (report) committed(*report);
}

void Checkpointing::poll() {
  if (on()) attempt([&] { return saver_->poll(); });
}

void Checkpointing::start(std::int64_t step, double loss) {
  if (!on() || step == last_saved_) return;
  state_.step = step;
  state_.loss = loss;
  attempt([&] {
    const auto begin = std::chrono::steady_clock::now();
    last_saved_ = step;
    checkpoint::together(fmt::format("step {} cannot be saved", step), environment_.control, [&] { log_.sync(); });
    saver_->start(state_, pieces_);
    log::info("checkpoint of step {}: started, training stood still for {:.3f} s", step, seconds_since(begin));
    return std::nullopt;
  });
  attempt([&] { return saver_->poll(); });  // the report of an earlier one that this has waited for
  saved_at_ = std::chrono::steady_clock::now();
}

void Checkpointing::finish(std::int64_t step, double loss) {
  if (!on()) return;
  do {  // ends: the second failure throws
    start(step, loss);
    attempt([&] { return saver_->finish(); });
  } while (last_saved_ != step);
}

void Checkpointing::settle() {
  if (!on()) return;
  try {
    attempt([&] { return saver_->finish(); });
  } catch (const Error& e) {
    if (e.code() == ExitCode::lost_peer) throw;
    if (rank0_) log::error("{}", e.what());
  }
}

void Checkpointing::committed(const checkpoint::SaveReport& report) {
  const bool first = cost_.write_seconds == 0;
  cost_ = {.stall_seconds = report.stall_seconds, .write_seconds = report.write_seconds};
  if (report.step >= failed_step_) failures_ = 0;  // it can be an older one, told late
  newest_ = report.path;
  log_.committed(report);
  if (first && interval_.kind == checkpoint::Interval::Kind::automatic) {
    log::info("checkpoint.interval auto: every {:.0f} min, by a stall of {:.3f} s and {:.0f} GPU-hours between stops",
              checkpoint::automatic_seconds(interval_, cost_) / 60, cost_.stall_seconds, interval_.failure_gpu_hours);
  }
}

}  // namespace octet
