#include "src/train/run/stop_request.h"

#include <csignal>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/base/log.h"

namespace octet {

std::string_view name_of(StopReason reason) {
  switch (reason) {
    case StopReason::none:
      break;
    case StopReason::wall_time:
      return "train.max_wall_time";
    case StopReason::stop_file:
      return "stop file";
    case StopReason::user_signal:
      return "SIGUSR1";
    case StopReason::terminate:
      return "SIGTERM";
    case StopReason::interrupt:
      return "SIGINT";
  }
  return "";
}

ExitCode exit_code_unsaved(StopReason reason) {
  return reason == StopReason::interrupt ? ExitCode::interrupted : ExitCode::terminated;
}

StopRequest::StopRequest(const StopSignal& signal, WallClock clock, std::string stop_file)
    : signal_(signal), clock_(clock), stop_file_(std::move(stop_file)) {}

StopReason StopRequest::reason(double seconds) const {
  const int signal = signal_.received();
  if (signal == SIGINT) return StopReason::interrupt;
  if (signal == SIGTERM) return StopReason::terminate;
  if (signal == SIGUSR1) return StopReason::user_signal;
  std::error_code ignored;
  if (!stop_file_.empty() && std::filesystem::exists(stop_file_, ignored)) return StopReason::stop_file;
  return clock_.is_too_late_for(seconds) ? StopReason::wall_time : StopReason::none;
}

void StopRequest::honoured() const noexcept {
  if (stop_file_.empty()) return;
  std::error_code error;
  std::filesystem::remove(stop_file_, error);
  if (error) log::warning("{}: cannot be removed ({}); the next start will stop too", stop_file_, error.message());
}

}  // namespace octet
