#pragma once

#include <string>

namespace octet {

/// Collectives that were given to a device and are not known to be done. The main thread, which alone talks to the
/// device and its library, keeps in memory what is in flight; the watchdog reads that memory and calls neither: it must
/// be able to end a process whose every call of the device blocks.
class InFlight {
 public:
  virtual ~InFlight() = default;

  /// Main thread: asks the device what is done, and the library whether all is well. Throws Error (lost_peer) when the
  /// library reports an error.
  virtual void poll() = 0;
  /// The oldest operation that was not done when it was last asked ("all_gather of 4096 bytes in group dp_shard for
  /// unit layers.3"), empty when all were. From any thread; waits for nothing: where the record is being written at
  /// this moment it says so.
  virtual std::string oldest() const = 0;
};

/// Lets the functions below see `in_flight` as long as it lives: the last member of the class that implements it. Main
/// thread only.
class InFlightScope {
 public:
  explicit InFlightScope(InFlight& in_flight);
  ~InFlightScope();
  InFlightScope(const InFlightScope&) = delete;
  InFlightScope& operator=(const InFlightScope&) = delete;

 private:
  InFlight& in_flight_;
};

/// Polls all that are seen, for loops that wait. Main thread only.
void poll_in_flight();
/// The oldest operation of each group that is seen, separated by semicolons. Any thread; waits for nothing.
std::string operations_in_flight();

}  // namespace octet
