#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "src/device/device.h"
#include "src/profile/scopes.h"  // the unit that an operation's text names

namespace octet {

/// Parts of a run that differ in how long an operation may take.
enum class Phase : std::uint8_t {
  start,       ///< data is opened, plans are compiled, the first step runs: ranks may be far apart
  step,        ///< all later steps
  checkpoint,  ///< ranks wait for the slowest reader or writer of files
  count
};

/// Says what phase the main thread is in, as long as it lives; outside of any it is `start`. Nests. Main thread only.
class PhaseScope {
 public:
  explicit PhaseScope(Phase phase);
  ~PhaseScope();
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  Phase outer_;
};

/// Says what the main thread waits for, as long as it lives: a collective, or anything else that can hang (a read from
/// a shared file system). Nests: the innermost counts. Costs two uncontended locks and one look at the clock.
/// Main thread only; the strings (for `name` best a literal) must outlive the scope.
class OperationScope {
 public:
  explicit OperationScope(std::string_view name, std::string_view group = {}, std::int64_t bytes = 0);
  ~OperationScope();
  OperationScope(const OperationScope&) = delete;
  OperationScope& operator=(const OperationScope&) = delete;

  /// For loops that poll: throws Error (lost_peer) that names the operation when a Watchdog is alive and the
  /// deadline of the phase in which this scope began has passed since then.
  void check_deadline() const;
  std::string_view name() const { return name_; }
  std::int64_t bytes() const { return bytes_; }
  /// "all_gather of 4096 bytes in group dp_shard for unit layers.3"
  std::string text() const;

 private:
  friend class Watchdog;

  std::string_view name_;
  std::string_view group_;
  std::string_view unit_;
  Phase phase_;
  std::int64_t bytes_;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  const OperationScope* outer_;
};

/// Until the device has come to `event`. Polled where a Watchdog is alive: throws as check_deadline, where
/// Event::synchronize would leave a rank whose peer has stopped to the watchdog's thread, `grace_seconds` later.
void await(const Event& event, const OperationScope& operation);

/// Seconds that one operation may take, by phase.
struct TimeLimits {
  double start;              ///< comm.start_timeout_seconds
  double step;               ///< comm.timeout_seconds
  double checkpoint = 1800;  ///< comm.checkpoint_timeout_seconds
};

/// Puts a deadline on every OperationScope while it lives; one at a time in a process. A loop
/// that polls finds the deadline itself. If the main thread does not come to that (stuck inside a system or library
/// call), this object's thread logs what it waits for after `grace_seconds` more and ends the process with exit code 71
/// by _exit, since MPI belongs to the main thread; the launcher then ends the other ranks.
class Watchdog {
 public:
  /// Throws a usage error when a limit is not positive.
  explicit Watchdog(const TimeLimits& limits, double grace_seconds = 30.0);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void watch();

  std::chrono::steady_clock::duration grace_;
  std::chrono::steady_clock::duration interval_;  ///< between two looks
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace octet
