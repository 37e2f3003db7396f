#include "src/comm/watchdog.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/comm/in_flight.h"

namespace octet {
namespace {

using Clock = std::chrono::steady_clock;

/// What the watchdog's thread shares with the main thread. The lock also keeps the scope alive while it is read.
struct Current {
  std::mutex mutex;
  const OperationScope* operation = nullptr;
};
Current& current() {
  static Current instance;
  return instance;
}

Phase current_phase = Phase::start;  // main thread only

constexpr std::size_t phases = static_cast<std::size_t>(Phase::count);
struct PhaseText {
  const char* name;
  const char* key;  ///< of its limit
};
constexpr std::array<PhaseText, phases> phase_texts = {{{"start", "comm.start_timeout_seconds"},
                                                        {"step", "comm.timeout_seconds"},
                                                        {"checkpoint", "comm.checkpoint_timeout_seconds"}}};

/// Of every operation of a phase. Set while no operation is under way; the watchdog's thread starts after that.
std::array<Clock::duration, phases> deadlines;
bool armed = false;  // there is a watchdog; main thread only

const PhaseText& text_of(Phase phase) {
  return phase_texts[static_cast<std::size_t>(phase)];
}
Clock::duration deadline_of(Phase phase) {
  return deadlines[static_cast<std::size_t>(phase)];
}

Clock::duration duration_of(double seconds) {
  // Below the clock's range (292 years), and above any use.
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, 1e9)));
}

double seconds_of(Clock::duration d) {
  return std::chrono::duration<double>(d).count();
}

/// An error that the main thread does not come to see within this time ends the process: it waits for the device.
constexpr Clock::duration error_patience = std::chrono::seconds(5);

std::string on_the_device() {
  const std::string operations = operations_in_flight();
  return operations.empty() ? "" : "; not done on the device: " + operations;
}

[[noreturn]] void end_process(const std::string& why) {
  alarm(10);  // should even the log hang (a full pipe, a dead file system), SIGALRM ends the process
  log::error("[comm] {}", why);
  _exit(static_cast<int>(ExitCode::lost_peer));
}

/// Replaces the current operation. Returns the one before.
const OperationScope* exchange_operation(const OperationScope* operation) {
  const std::lock_guard lock(current().mutex);
  return std::exchange(current().operation, operation);
}

}  // namespace

PhaseScope::PhaseScope(Phase phase) : outer_(std::exchange(current_phase, phase)) {}
PhaseScope::~PhaseScope() {
  current_phase = outer_;
}

OperationScope::OperationScope(std::string_view name, std::string_view group, std::int64_t bytes)
    : name_(name),
      group_(group),
      unit_(UnitScope::current()),
      phase_(current_phase),
      bytes_(bytes),
      outer_(exchange_operation(this)) {}

OperationScope::~OperationScope() {
  exchange_operation(outer_);
}

void OperationScope::check_deadline() const {
  if (!armed || Clock::now() - since_ < deadline_of(phase_)) return;
  throw Error(
      ExitCode::lost_peer,
      fmt::format("[comm] {} has not completed within {:g} s in phase {} ({}): another rank has ended, "
                  "hangs, or makes other calls{}",
                  text(), seconds_of(deadline_of(phase_)), text_of(phase_).name, text_of(phase_).key, on_the_device()));
}

void await(const Event& event, const OperationScope& operation) {
  if (!armed) return event.synchronize();
  while (!event.complete()) {
    sched_yield();
    operation.check_deadline();
  }
}

std::string OperationScope::text() const {
  std::string t(name_);
  if (bytes_ > 0) t += fmt::format(" of {} bytes", bytes_);
  if (!group_.empty()) t += fmt::format(" in group {}", group_);
  if (!unit_.empty()) t += fmt::format(" for unit {}", unit_);
  return t;
}

Watchdog::Watchdog(const TimeLimits& limits, double grace_seconds) : grace_(duration_of(std::max(grace_seconds, 0.0))) {
  const std::array<double, phases> seconds = {limits.start, limits.step, limits.checkpoint};
  for (std::size_t p = 0; p < phases; ++p) {
    if (seconds[p] > 0) continue;
    throw usage_error("comm", "{} is {}, expected a positive number", phase_texts[p].key, seconds[p]);
  }
  if (armed) throw internal_error("comm", "two watchdogs in one process");
  std::ranges::transform(seconds, deadlines.begin(), duration_of);
  armed = true;
  interval_ = std::clamp<Clock::duration>((std::ranges::min(deadlines) + grace_) / 20, std::chrono::milliseconds(10),
                                          std::chrono::seconds(1));
  thread_ = std::thread([this] { watch(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
  armed = false;
}

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  Clock::time_point sound = Clock::now();
  while (!wake_.wait_for(lock, interval_, [this] { return stop_; })) {
    const std::string error = error_in_flight();
    if (error.empty()) sound = Clock::now();
    if (Clock::now() - sound > error_patience) {
      end_process(fmt::format("{}; the main thread has not noticed; ending this process", error));
    }
    const std::lock_guard hold(current().mutex);
    const OperationScope* operation = current().operation;
    if (operation == nullptr) continue;
    const Clock::duration waited = Clock::now() - operation->since_;
    if (waited < deadline_of(operation->phase_) + grace_) continue;
    end_process(fmt::format("the main thread has been stuck for {:.1f} s in {} in phase {} ({}){}; ending this process",
                            seconds_of(waited), operation->text(), text_of(operation->phase_).name,
                            text_of(operation->phase_).key, on_the_device()));
  }
}

}  // namespace octet
