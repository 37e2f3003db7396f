#include "src/comm/watchdog.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "src/base/error.h"
#include "src/base/log.h"

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

std::string_view current_unit;                                  // main thread only
std::atomic<Clock::duration> deadline{Clock::duration::max()};  // of every operation; max: none

Clock::duration duration_of(double seconds) {
  // Below the clock's range (292 years), and above any use.
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, 1e9)));
}

double seconds_of(Clock::duration d) {
  return std::chrono::duration<double>(d).count();
}

/// Replaces the current operation. Returns the one before.
const OperationScope* exchange_operation(const OperationScope* operation) {
  const std::lock_guard lock(current().mutex);
  return std::exchange(current().operation, operation);
}

}  // namespace

UnitScope::UnitScope(std::string_view name) : outer_(std::exchange(current_unit, name)) {}
UnitScope::~UnitScope() {
  current_unit = outer_;
}
std::string_view UnitScope::current() {
  return current_unit;
}

OperationScope::OperationScope(std::string_view name, std::string_view group, std::int64_t bytes)
    : name_(name), group_(group), unit_(current_unit), bytes_(bytes), outer_(exchange_operation(this)) {}

OperationScope::~OperationScope() {
  exchange_operation(outer_);
}

void OperationScope::check_deadline() const {
  const Clock::duration limit = deadline.load(std::memory_order_relaxed);
  if (limit == Clock::duration::max() || Clock::now() - since_ < limit) return;
  throw Error(ExitCode::lost_peer,
              fmt::format("[comm] {} has not completed within {:g} s (comm.timeout_seconds): another rank has ended, "
                          "hangs, or makes other calls",
                          text(), seconds_of(limit)));
}

std::string OperationScope::text() const {
  std::string t(name_);
  if (bytes_ > 0) t += fmt::format(" of {} bytes", bytes_);
  if (!group_.empty()) t += fmt::format(" in group {}", group_);
  if (!unit_.empty()) t += fmt::format(" for unit {}", unit_);
  return t;
}

Watchdog::Watchdog(double timeout_seconds, double grace_seconds) {
  if (!(timeout_seconds > 0)) {
    throw usage_error("comm", "comm.timeout_seconds is {}, expected a positive number", timeout_seconds);
  }
  if (deadline.load() != Clock::duration::max()) throw internal_error("comm", "two watchdogs in one process");
  patience_ = duration_of(timeout_seconds) + duration_of(std::max(grace_seconds, 0.0));
  deadline = duration_of(timeout_seconds);
  thread_ = std::thread([this] { watch(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
  deadline = Clock::duration::max();
}

void Watchdog::watch() {
  const auto interval =
      std::clamp<Clock::duration>(patience_ / 20, std::chrono::milliseconds(10), std::chrono::seconds(1));
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, interval, [this] { return stop_; })) {
    const std::lock_guard hold(current().mutex);
    const OperationScope* operation = current().operation;
    if (operation == nullptr || Clock::now() - operation->since_ < patience_) continue;
    alarm(10);  // should even the log hang (a full pipe, a dead file system), SIGALRM ends the process
    log::error("[comm] the main thread has been stuck for {:.1f} s in {}; ending this process",
               seconds_of(Clock::now() - operation->since_), operation->text());
    _exit(static_cast<int>(ExitCode::lost_peer));
  }
}

}  // namespace octet
