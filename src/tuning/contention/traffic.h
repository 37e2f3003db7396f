#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace octet {

/// A direction of a wire, or of several that packets are spread over evenly.
struct Link {
  std::string name;
  double gbs = 0;
};

/// Step s of a lane may start when this other lane's step s - lag has arrived.
struct Feeder {
  int lane = 0;
  int lag = 0;
};

/// What one node sends to one other over one connection: blocks of equal size, one after the other.
struct Lane {
  int from = 0, to = 0;   ///< nodes
  std::vector<int> path;  ///< links, by index
  double bytes = 0;       ///< of a block
  int steps = 0;          ///< blocks
  double latency_us = 0;  ///< from the end of sending a block until the receiver can send it on
  std::vector<Feeder> feeders;
};

/// Everything that moves at the same time. Links are shared fairly by the blocks on them.
struct Traffic {
  std::vector<Link> links;
  std::vector<Lane> lanes;
};

/// Most steps of a lane.
int steps_of_longest(const Traffic& traffic);

/// How long a link would need for all that passes over it, at its full rate.
struct LinkLoad {
  int link = 0;
  double busy_us = 0;
  std::vector<int> lanes;
};

/// All links, the busiest first; of equally busy ones that with more lanes.
std::vector<LinkLoad> link_loads(const Traffic& traffic);

}  // namespace octet
