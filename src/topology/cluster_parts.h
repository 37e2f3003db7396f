#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/cluster/network_shape.h"

namespace octet::parts {

// What the drawings of a network have in common.

inline constexpr std::int64_t gap = -1;  ///< stands for those that are not drawn

/// The first ones and the last of many, with a gap between.
std::vector<std::int64_t> shown(std::int64_t count, std::int64_t most);
/// "node 3", "nodes 0 to 31".
std::string range(const char* what, std::int64_t from, std::int64_t to);
/// "400 Gb/s", "12.8 Tb/s".
std::string rate(double gbps);
/// "7:1".
std::string ratio(double oversubscription);

struct Nodes {
  std::int64_t from, to;
};
Nodes pod_nodes(const NetworkShape& shape, std::int64_t pod);
Nodes group_nodes(const NetworkShape& shape, std::int64_t group);

struct Groups {
  std::int64_t first, count;
};
/// The leaf groups that hold a pod's nodes.
Groups groups_of(const NetworkShape& shape, std::int64_t pod);
/// "leaves 8 to 15".
std::string leaves_text(const NetworkShape& shape, std::int64_t group);
std::string headline(const ClusterProfile& profile, const NetworkShape& shape);

}  // namespace octet::parts
