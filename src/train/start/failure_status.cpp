#include "src/train/start/failure_status.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <optional>

#include "src/base/log.h"
#include "src/comm/operation.h"
#include "src/metrics/status.h"

namespace octet {
namespace {

/// Removes what an earlier start left at the path. Returns the path when no rank can find that any more.
std::string cleared(const std::string& path, Communicator& control) {
  if (control.rank() == 0) {
    std::error_code error;
    std::filesystem::remove(path, error);
    if (error) log::warning("{}: cannot be removed ({}); it is of an earlier start", path, error.message());
  }
  control.barrier();
  return path;
}

bool says_end(const RunStatus& status) {
  return status.state == "finished" || status.state == "stopped";
}

}  // namespace

FailureStatus::FailureStatus(const RunDirectory& directory, Communicator& control, std::int64_t steps)
    : status_(directory.status()),
      owner_(directory.owner),
      steps_(steps),
      file_(
          cleared(directory.path + "/failure.txt", control), [this](ExitCode code) { return may_write(code); },
          [this](ExitCode code, const std::string& message) { write(code, message); }) {}

void FailureStatus::begin(Communicator& control) {
  control.barrier();
  begun_ = true;
}

void FailureStatus::end(Communicator& control) {
  if (control.rank() == 0) ended_ = true;           // also where another one is lost before it knows
  const RunPhaseScope phase(RunPhase::checkpoint);  // the others wait for rank 0's files
  control.barrier();
  ended_ = true;
}

/// Also looks at the status: a rank that loses a peer in end() has not yet heard from rank 0 that the run has ended.
bool FailureStatus::has_ended() const {
  if (ended_) return true;
  const std::optional<RunStatus> status = read_status(status_);
  return status && stays(*status);
}

/// The end of this run, or of an earlier start that has done all that this one is asked for.
bool FailureStatus::stays(const RunStatus& status) const {
  return begun_ ? says_end(status) : status.state == "finished" && status.steps == steps_;
}

bool FailureStatus::may_write(ExitCode code) const {
  return (begun_ || code != ExitCode::usage) && owner_.holds() && !has_ended();
}

void FailureStatus::write(ExitCode code, const std::string& message) const {
  try {
    RunStatus status = read_status(status_).value_or(RunStatus{});
    if (stays(status)) return;
    // On a full disk there is no failure.txt that says who was first. The loss of a peer is a consequence: it does not
    // replace the failure that is in the status.
    if (begun_ && status.state == "failed" && code == ExitCode::lost_peer) return;
    const std::string who = log::identity();
    status.state = "failed";
    status.reason = who.empty() ? message : who + ": " + message;
    status.exit_code = static_cast<int>(code);
    status.step = std::max(status.step, done_.load());
    status.steps = steps_;  // an earlier start may have been asked for fewer
    write_status(status_, status);
  } catch (const std::exception& e) {
    log::write_error_at_once(e.what());
  }
}

}  // namespace octet
