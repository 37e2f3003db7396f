#include "src/train/run/stop_request.h"

#include <unistd.h>

#include <atomic>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/base/log.h"

namespace octet {
namespace {

constexpr std::array<int, 3> signals = {SIGINT, SIGTERM, SIGUSR1};

// The system chooses the thread that a handler runs on, so that two may run at once.
using Shared = std::atomic<int>;
static_assert(Shared::is_always_lock_free);
Shared received_signal = 0;
Shared ending_since = 0;  // seconds of the clock at the first SIGINT or SIGTERM; 0: none yet

/// Sets what is still 0. Returns what it is then.
int set_first(Shared& shared, int value) {
  int before = 0;
  return shared.compare_exchange_strong(before, value) ? value : before;
}

void on_signal(int signal) {
  set_first(received_signal, signal);
  if (signal == SIGUSR1) return;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const auto seconds = static_cast<int>(now.tv_sec + 1);  // above 0 even where the clock begins
  if (seconds - set_first(ending_since, seconds) > 1) _exit(128 + signal);
}

void install(int signal, struct sigaction* before) {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, before);
}

}  // namespace

StopSignal::StopSignal() : before_{} {
  received_signal = 0;
  ending_since = 0;
  for (std::size_t i = 0; i < signals.size(); ++i) install(signals[i], &before_[i]);
}

void StopSignal::install_again() const {
  for (const int signal : signals) install(signal, nullptr);
}

StopSignal::~StopSignal() {
  for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &before_[i], nullptr);
}

int StopSignal::received() const {
  return received_signal;
}

bool StopSignal::told_to_end() const {
  return ending_since != 0;
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

StopReason StopRequest::urgent_reason() const {
  return signal_.told_to_end() ? reason(0) : StopReason::none;
}

void StopRequest::honoured() const noexcept {
  if (stop_file_.empty()) return;
  std::error_code error;
  std::filesystem::remove(stop_file_, error);
  if (error) log::warning("{}: cannot be removed ({}); the next start will stop too", stop_file_, error.message());
}

}  // namespace octet
