#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "src/base/mapped_regions.h"

namespace octet {

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
/// A loop that polls notices by itself that the deadline of its OperationScope (operation.h) has passed, throws, and
/// all ranks are told in good order. If the main thread does not get that far, this object's thread names what was
/// begun last, `grace_seconds` later, in the log and as the reason of the failure (src/comm/failure.h). It then ends
/// the process with exit code 71 by _exit, since MPI belongs to the main thread; the launcher ends the other ranks.
/// That thread calls neither MPI nor the device nor its libraries, takes no lock that is held over such a call, and
/// arms the end of the process before it composes a message. In the same way it ends the process, with exit code 70,
/// when a thread stands still because a page of a mapped file cannot be read (src/base/mapped_regions.h). A time in
/// which the whole process was stopped does not count.
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
