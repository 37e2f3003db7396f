#pragma once

#include <string>
#include <vector>

#include "src/cluster/machine/finding.h"
#include "src/cluster/profile.h"
#include "src/topology/places.h"

namespace octet {

/// What NCCL will take from this topology that makes it slow or wrong, each with what was seen, what is expected and
/// what to do. `expected`: the cluster's profile, or null.
Findings lint_topology(const NodeTopology& topology, const ClusterProfile* expected);

/// A device whose PCI link, NVLinks or network ports are less than they should be.
struct BadLink {
  /// uplink: a bridge's that only traffic with the CPU takes. slot: of all GPUs alike, less than they could do.
  enum class Kind { pci, uplink, slot, nvlink, port };
  const PciDevice* device = nullptr;
  std::string name;  ///< of the device
  std::string seen, expected;
  Kind kind = Kind::pci;
};

std::vector<BadLink> sick_links(const Places& places);

/// The first four and how many more: "a, b, c, d and 12 more".
std::string some_of(const std::vector<std::string>& parts, const char* separator = ", ");

// The parts of lint_topology().
Findings lint_links(const Places& places);
Findings lint_cards(const Places& places, const ClusterProfile* expected);
Findings lint_node(const NodeTopology& topology, const Places& places, const ClusterProfile* expected);

}  // namespace octet
