#include "src/comm/watchdog.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "src/base/error.h"
#include "src/base/heartbeat.h"
#include "src/comm/failure.h"
#include "src/comm/in_flight.h"
#include "src/comm/mpi/crash_signals.h"

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

std::atomic<RunPhase> current_phase = RunPhase::start;  // written by the main thread

constexpr std::size_t phases = static_cast<std::size_t>(RunPhase::count);
struct PhaseText {
  const char* name;
  const char* key;  ///< of its limit
};
constexpr std::array<PhaseText, phases> phase_texts = {{{"start", "comm.start_timeout_seconds"},
                                                        {"step", "comm.timeout_seconds"},
                                                        {"checkpoint", "comm.checkpoint_timeout_seconds"},
                                                        {"end", "comm.timeout_seconds"}}};

/// Of a phase: how long an operation may take, and the main thread stand still.
std::array<std::atomic<Clock::duration>, phases> deadlines;
/// The most that counts of a time between two looks at the clock.
std::atomic<Clock::duration> longest_gap;
bool armed = false;  // there is a watchdog; main thread only

const PhaseText& text_of(RunPhase phase) {
  return phase_texts[static_cast<std::size_t>(phase)];
}
Clock::duration deadline_of(RunPhase phase) {
  return deadlines[static_cast<std::size_t>(phase)];
}

Clock::duration duration_of(double seconds) {
  // Below the clock's range (292 years), and above any use.
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, 1e9)));
}

double seconds_of(Clock::duration d) {
  return std::chrono::duration<double>(d).count();
}

std::string on_the_device() {
  const std::string operations = operations_in_flight();
  return operations.empty() ? "" : "; not done on the device: " + operations;
}

/// Replaces the current operation. Returns the one before.
const OperationScope* exchange_operation(const OperationScope* operation) {
  const std::lock_guard lock(current().mutex);
  return std::exchange(current().operation, operation);
}

[[noreturn]] void end_by_data(const char* path) {
  arm_the_end();
  end_by_watchdog(
      ExitCode::internal,
      fmt::format("[data] {}: a page of it cannot be read: the file was cut off while it was in use, or its "
                  "file system failed; ending this process",
                  path));
}

}  // namespace

void enter(RunPhase phase) {
  current_phase = phase;
}

RunPhaseScope::RunPhaseScope(RunPhase phase) : outer_(current_phase.exchange(phase)) {}
RunPhaseScope::~RunPhaseScope() {
  current_phase = outer_;
}

OperationScope::OperationScope(const char* name, std::string_view group, std::int64_t bytes)
    : name_(name),
      group_(group),
      unit_(UnitScope::current()),
      phase_(current_phase),
      bytes_(bytes),
      outer_(exchange_operation(this)) {
  heartbeat::begin(name_);
}

OperationScope::~OperationScope() {
  heartbeat::begin(name_);  // what follows is progress too
  exchange_operation(outer_);
}

void OperationScope::check_deadline(std::string_view cause) const {
  if (!armed || waited_.look(longest_gap) < deadline_of(phase_)) return;
  throw Error(
      ExitCode::lost_peer,
      fmt::format(
          "[comm] {} has not completed within {:g} s in phase {} ({}): {}{} (docs/problems.md, \"A rank was lost\")",
          text(), seconds_of(deadline_of(phase_)), text_of(phase_).name, text_of(phase_).key, cause, on_the_device()));
}

void await(const Event& event, const OperationScope& operation) {
  if (!armed) return event.synchronize();
  while (!event.complete()) {
    sched_yield();
    poll_in_flight();
    operation.check_deadline("the device hangs, or another rank has ended, hangs, or makes other calls");
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
  if (armed) throw internal_error("comm", "two watchdogs in one process");
  set_limits(limits);
  leave_crashes_to_the_system();  // which would take the signal of a page that cannot be read from its owner
  mapped_files_.emplace();
  armed = true;
  heartbeat::watch(true);
  thread_ = std::thread([this] { watch(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
  heartbeat::watch(false);
  armed = false;
}

void Watchdog::set_limits(const TimeLimits& limits) {
  const std::array<double, phases> seconds = {limits.start, limits.step, limits.checkpoint, limits.step};
  for (std::size_t p = 0; p < phases; ++p) {
    if (seconds[p] > 0) continue;
    throw usage_error("comm", "{} is {}, expected a positive number", phase_texts[p].key, seconds[p]);
  }
  for (std::size_t p = 0; p < phases; ++p) deadlines[p] = duration_of(seconds[p]);
  const std::lock_guard lock(mutex_);
  const Clock::duration shortest = duration_of(std::ranges::min(seconds));
  interval_ =
      std::clamp<Clock::duration>((shortest + grace_) / 20, std::chrono::milliseconds(10), std::chrono::seconds(1));
  longest_gap = 4 * interval_;
}

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  std::uint64_t seen = heartbeat::count();
  WaitedTime standing;
  for (;;) {
    if (wake_.wait_for(lock, interval_, [this] { return stop_; })) return;
    if (const char* const path = mapped_regions::unreadable(); path != nullptr && !is_failing()) end_by_data(path);
    if (const std::uint64_t count = heartbeat::count(); count != seen) {
      seen = count;
      standing.begin_anew();
    }
    const Clock::duration stood = standing.look(longest_gap);
    if (stood >= deadline_of(current_phase) + grace_ && !is_failing()) end(stood);
  }
}

void Watchdog::end(Clock::duration stood) const {
  arm_the_end();
  std::string what = heartbeat::last();
  {
    const std::unique_lock hold(current().mutex, std::try_to_lock);
    const OperationScope* operation = hold.owns_lock() ? current().operation : nullptr;
    if (operation == nullptr) {
      what = "or after " + what;
    } else {
      what =
          operation->name() == what ? operation->text() : fmt::format("or after {} within {}", what, operation->text());
    }
  }
  const PhaseText& phase = text_of(current_phase);
  end_by_watchdog(
      ExitCode::lost_peer,
      fmt::format("[comm] the main thread has been stuck for {:.1f} s in {} in phase {} ({}){}; ending this process",
                  seconds_of(stood), what, phase.name, phase.key, on_the_device()));
}

}  // namespace octet
