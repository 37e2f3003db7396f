#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/device/device.h"

namespace octet::bench {

using Launch = std::function<void()>;

/// Seconds of one launch: median, lowest and highest of the repeats.
struct Timing {
  double seconds = 0;
  double lowest = 0;
  double highest = 0;
  int repeats = 0;
  int launches = 0;    ///< of one repeat
  bool graph = false;  ///< a repeat was one CUDA graph, so that the host's launches are not what was measured
};

/// One way to do a row's work.
struct Rotation {
  /// Of the same on different memory, one after the other in their order, so that none finds in the cache what the one
  /// before it left there.
  std::vector<Launch> launches;
  bool in_graph = true;  ///< captured as a CUDA graph, where the launches can be
};

/// A way's times, or why it was refused.
struct Outcome {
  Timing timing;
  std::string refused;
};

/// Times the ways in turns: one after the other they would not meet the same GPU, whose clock falls as it gets hot and
/// reaches its power limit. A repeat is several rounds of a rotation between two events of the stream; on the CPU the
/// clock takes the events' place. `budget`: about how many seconds all repeats of a way may take. `settle`: seconds of
/// the same work before them, until the clock is what it stays at.
std::vector<Outcome> time_in_turns(Stream& stream, const std::vector<Rotation>& ways, double budget, double settle);

}  // namespace octet::bench
