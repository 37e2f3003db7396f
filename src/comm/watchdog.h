#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "src/base/mapped_regions.h"
#include "src/device/device.h"
#include "src/profile/scopes.h"  // the unit that an operation's text names

namespace octet {

/// Parts of a run that differ in how long an operation may take.
enum class RunPhase : std::uint8_t {
  start,       ///< data is opened, plans are compiled, the first step runs: ranks may be far apart
  step,        ///< all later steps
  checkpoint,  ///< ranks wait for the slowest reader or writer of files
  end,         ///< after the last step: what was made is given back, and MPI ends; the limit is that of a step
  count
};

/// The phase from now on, outside of any RunPhaseScope; before the first call it is `start`. Main thread only.
void enter(RunPhase phase);

/// Says what phase the main thread is in, as long as it lives. Nests. Main thread only.
class RunPhaseScope {
 public:
  explicit RunPhaseScope(RunPhase phase);
  ~RunPhaseScope();
  RunPhaseScope(const RunPhaseScope&) = delete;
  RunPhaseScope& operator=(const RunPhaseScope&) = delete;

 private:
  RunPhase outer_;
};

/// How long a thread has waited, by its own looks at the clock. A time in which it could not look, as where the whole
/// process was stopped (`scontrol suspend`, Ctrl-Z), counts for no more than `most`: nothing could go on meanwhile.
class WaitedTime {
 public:
  using Clock = std::chrono::steady_clock;

  Clock::duration look(Clock::duration most) const {
    const Clock::time_point now = Clock::now();
    waited_ += std::min(now - std::exchange(before_, now), most);
    return waited_;
  }
  void begin_anew() { *this = {}; }

 private:
  mutable Clock::time_point before_ = Clock::now();
  mutable Clock::duration waited_{};
};

/// Says what the main thread waits for, as long as it lives: a collective, or anything else that can hang (a read from
/// a shared file system). Nests: the innermost counts. Tells the heartbeat (src/base/heartbeat.h) where it begins and
/// ends. Costs two uncontended locks and one look at the clock.
/// Main thread only; `name` is a literal, and the other strings must outlive the scope.
class OperationScope {
 public:
  explicit OperationScope(const char* name, std::string_view group = {}, std::int64_t bytes = 0);
  ~OperationScope();
  OperationScope(const OperationScope&) = delete;
  OperationScope& operator=(const OperationScope&) = delete;

  /// To be called by loops that poll. Throws Error (lost_peer), naming the operation and `cause`, when a Watchdog is
  /// alive and the scope is older than the phase in which it began allows. A time in which the process was stopped does
  /// not count.
  void check_deadline(std::string_view cause = "another rank has ended, hangs, or makes other calls") const;
  const char* name() const { return name_; }
  std::int64_t bytes() const { return bytes_; }
  /// "all_gather of 4096 bytes in group dp_shard for unit layers.3"
  std::string text() const;

 private:
  friend class Watchdog;

  const char* name_;
  std::string_view group_;
  std::string_view unit_;
  RunPhase phase_;
  std::int64_t bytes_;
  WaitedTime waited_;
  const OperationScope* outer_;
};

/// Waits until the device has come to `event`. Where a Watchdog is alive it polls, and throws as check_deadline and
/// poll_in_flight do. (In Event::synchronize a rank whose peer has stopped would hang until the watchdog's thread ends
/// it, `grace_seconds` later.)
void await(const Event& event, const OperationScope& operation);

/// Seconds that one operation may take, by phase; as the options have them by default.
struct TimeLimits {
  double start = 1800;       ///< comm.start_timeout_seconds
  double step = 600;         ///< comm.timeout_seconds
  double checkpoint = 1800;  ///< comm.checkpoint_timeout_seconds
};

/// Ends the process when the main thread, which makes this object, makes no progress: when the heartbeat
/// (src/base/heartbeat.h) has not moved for as long as the phase allows, whatever the main thread is doing: a
/// collective, the launch of a kernel behind one that hangs, a page of a file system that is gone, MPI_Init or
/// MPI_Finalize. So it lives from before MPI_Init to after MPI_Finalize; one at a time in a process.
///
/// A loop that polls notices by itself that the deadline of its OperationScope has passed, throws, and all ranks are
/// told in good order. If the main thread does not get that far, this object's thread names what was begun last,
/// `grace_seconds` later, in the log and as the reason of the failure (src/comm/failure.h). It then ends the process
/// with exit code 71 by _exit, since MPI belongs to the main thread; the launcher ends the other ranks. That thread
/// calls neither MPI nor the device nor its libraries, takes no lock that is held over such a call, and arms the end of
/// the process before it composes a message. In the same way it ends the process, with exit code 70, when a thread
/// stands still because a page of a mapped file cannot be read (src/base/mapped_regions.h). A time in which the whole
/// process was stopped does not count.
class Watchdog {
 public:
  /// Throws a usage error when a limit is not positive, as set_limits.
  explicit Watchdog(const TimeLimits& limits = {}, double grace_seconds = 2.0);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void set_limits(const TimeLimits& limits);

 private:
  void watch();
  [[noreturn]] void end(std::chrono::steady_clock::duration stood) const;

  std::optional<mapped_regions::Guard> mapped_files_;
  std::chrono::steady_clock::duration grace_;
  std::chrono::steady_clock::duration interval_{};  ///< between two looks
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace octet
