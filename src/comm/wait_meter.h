#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <vector>

#include "src/device/device.h"

namespace octet {

/// How long this rank's collectives took, which is mostly how long it waited for others: by the host's clock where a
/// call is done when it returns (CPU), by pairs of timing events on a device's streams, without waiting for it. Main
/// thread only. Devices must outlive it.
class WaitMeter {
 public:
  /// begin() and end() enclose a collective, or a group of them, on its stream. Of nested pairs, as those of the
  /// communicators of one group, the outermost counts.
  void begin(Stream& stream);
  void end(Stream& stream);
  /// Seconds, added over all streams, of those that are known to be done and were not taken yet.
  double take();

 private:
  using Clock = std::chrono::steady_clock;
  struct Pair {
    std::unique_ptr<Event> begin, end;
  };

  void retire();

  double seconds_ = 0;
  int depth_ = 0;
  Clock::time_point since_;
  Pair open_;
  std::deque<Pair> pending_;
  std::vector<Pair> idle_;
};

}  // namespace octet
