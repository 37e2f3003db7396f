#include "src/train/run/status_book.h"

#include <optional>

#include "src/base/error.h"
#include "src/base/log.h"

namespace octet {

void StatusBook::begin(const StartingPoint& from) {
  checkpoint_ = from.checkpoint;
  from_ = from.step;
  const std::optional<RunStatus> before = read_status(directory_.status());
  const bool has_steps = from.step < steps_;
  was_finished_ =
      !has_steps && before && before->state == "finished" && before->step == from.step && before->steps == steps_;
  if (was_finished_) return;
  if (before && directory_.goes_on()) {
    restarts_ = before->restarts;
    checkpoint_seconds_ = before->checkpoint_seconds;
  }
  // A directory that has an imported checkpoint of no step and nothing else has not been started yet.
  is_restart_ = directory_.goes_on() && (before || directory_.begins_again || from.step > 0);
  write("running", "", 0, from_);
}

bool StatusBook::count_restart() {
  if (is_restart_) ++restarts_;
  return is_restart_;
}

void StatusBook::tell_restart() {
  if (!is_restart_) return;
  const std::optional<RunStatus> now = read_status(directory_.status());
  if (now && now->state == "failed") return;
  write("running", "", 0, from_);
}

void StatusBook::committed(const checkpoint::SaveReport& report) {
  checkpoint_ = report.path;
  checkpoint_seconds_ = report.stall_seconds + report.write_seconds;
  directory_.owner.verify();
  try {
    write("running", "", 0, report.step);
  } catch (const Error& e) {
    log::error("{}; status.json does not name the checkpoint of step {}, which is committed all the same", e.what(),
               report.step);
  }
}

void StatusBook::write(const std::string& state, const std::string& reason, int exit_code, std::int64_t step) const {
  write_status(directory_.status(), {.state = state,
                                     .reason = reason,
                                     .exit_code = exit_code,
                                     .step = step,
                                     .steps = steps_,
                                     .restarts = restarts_,
                                     .checkpoint = checkpoint_,
                                     .checkpoint_seconds = checkpoint_seconds_});
}

}  // namespace octet
