#pragma once

#include <cstdint>
#include <functional>
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

/// Times `rotation`, launches of the same work on different memory, one after the other in its order, so that no
/// launch finds in the cache what the one before it left there. A repeat is several rounds of it between two events of
/// the stream, captured as a CUDA graph with `in_graph`, where the launches can be. On the CPU the clock takes the
/// events' place. `budget`: about how many seconds all repeats may take.
Timing time_launches(Stream& stream, const std::vector<Launch>& rotation, double budget, bool in_graph);

}  // namespace octet::bench
