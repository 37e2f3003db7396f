#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/comm/waited_time.h"
#include "src/device/device.h"

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

/// What the watchdog (src/comm/watchdog.h) sets and asks. Where nothing else is said, from any thread.
namespace operations {

using Duration = std::chrono::steady_clock::duration;
inline constexpr auto phases = static_cast<std::size_t>(RunPhase::count);

/// The option that says how long an operation may take in that phase.
const char* limit_key(RunPhase phase);
/// How long an operation may take, by phase.
void set_deadlines(const std::array<Duration, phases>& by_phase);
/// The most that counts of a time between two looks at the clock (WaitedTime::look).
void set_longest_gap(Duration gap);
/// Whether there is a watchdog: without one an operation may take for ever. Main thread only.
bool are_watched();
void set_watched(bool is_watched);

/// How long an operation may take in the phase in which the main thread is now.
Duration deadline();
Duration longest_gap();
/// "step (comm.timeout_seconds)", of the phase in which the main thread is now.
std::string phase_text();
/// What the main thread was doing when it last made progress: "all_gather of 4096 bytes in group dp_shard", or, where
/// `begun_last` is no operation, "or after cudaLaunchKernel within all_gather of ...". Waits for no lock.
std::string text_around(const std::string& begun_last);
/// "; not done on the device: all_gather of ...", or nothing.
std::string on_the_device();

}  // namespace operations

}  // namespace octet
