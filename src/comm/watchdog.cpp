#include "src/comm/watchdog.h"

#include <algorithm>
#include <array>
#include <string>

#include "src/base/error.h"
#include "src/base/heartbeat.h"
#include "src/comm/failure.h"
#include "src/comm/mpi/crash_signals.h"
#include "src/comm/operation.h"
#include "src/comm/waited_time.h"

namespace octet {
namespace {

using Clock = std::chrono::steady_clock;

Clock::duration duration_of(double seconds) {
  // Below the clock's range (292 years), and above any use.
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, 1e9)));
}

double seconds_of(Clock::duration d) {
  return std::chrono::duration<double>(d).count();
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

Watchdog::Watchdog(const TimeLimits& limits, double grace_seconds) : grace_(duration_of(std::max(grace_seconds, 0.0))) {
  if (operations::are_watched()) throw internal_error("comm", "two watchdogs in one process");
  set_limits(limits);
  leave_crashes_to_the_system();  // which would take the signal of a page that cannot be read from its owner
  mapped_files_.emplace();
  operations::set_watched(true);
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
  operations::set_watched(false);
}

void Watchdog::set_limits(const TimeLimits& limits) {
  const std::array<double, operations::phases> seconds = {limits.start, limits.step, limits.checkpoint, limits.step};
  std::array<Clock::duration, operations::phases> deadlines{};
  for (std::size_t p = 0; p < seconds.size(); ++p) {
    if (!(seconds[p] > 0)) {
      throw usage_error("comm", "{} is {}, expected a positive number", operations::limit_key(static_cast<RunPhase>(p)),
                        seconds[p]);
    }
    deadlines[p] = duration_of(seconds[p]);
  }
  operations::set_deadlines(deadlines);
  const std::lock_guard lock(mutex_);
  const Clock::duration shortest = duration_of(std::ranges::min(seconds));
  interval_ =
      std::clamp<Clock::duration>((shortest + grace_) / 20, std::chrono::milliseconds(10), std::chrono::seconds(1));
  operations::set_longest_gap(4 * interval_);
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
    const Clock::duration stood = standing.look(operations::longest_gap());
    if (stood >= operations::deadline() + grace_ && !is_failing()) end(stood);
  }
}

void Watchdog::end(Clock::duration stood) const {
  arm_the_end();
  const std::string what = operations::text_around(heartbeat::last());
  end_by_watchdog(
      ExitCode::lost_peer,
      fmt::format("[comm] the main thread has been stuck for {:.1f} s in {} in phase {}{}; ending this process",
                  seconds_of(stood), what, operations::phase_text(), operations::on_the_device()));
}

}  // namespace octet
