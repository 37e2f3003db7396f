#pragma once

#include <string>

namespace octet {

/// Collectives that were given to a device and are not known to be done: for the watchdog, which names the operation
/// that hangs, and ends the process when the device's library reports an error while the main thread waits.
class InFlight {
 public:
  virtual ~InFlight() = default;

  /// The oldest operation that is not done ("all_gather of 4096 bytes in group dp_shard for unit layers.3"), empty when
  /// all are. From any thread; must not wait for the device.
  virtual std::string oldest() const = 0;
  /// What the library reports ("remote process exited ..."), empty when nothing is wrong. From any thread.
  virtual std::string error() const = 0;
};

/// Lets the functions below see `in_flight` as long as it lives: the last member of the class that implements it.
class InFlightScope {
 public:
  explicit InFlightScope(const InFlight& in_flight);
  ~InFlightScope();
  InFlightScope(const InFlightScope&) = delete;
  InFlightScope& operator=(const InFlightScope&) = delete;

 private:
  const InFlight& in_flight_;
};

/// Of all that are seen: the oldest operation of each, separated by semicolons.
std::string operations_in_flight();
/// The first error, empty when there is none.
std::string error_in_flight();

}  // namespace octet
