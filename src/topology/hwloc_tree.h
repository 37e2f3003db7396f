#pragma once

#include <hwloc.h>

#include <cstdint>
#include <string>
#include <vector>

#include "src/cluster/machine/machine.h"

namespace octet {

/// hwloc's view of a machine with all its PCI devices.
class HwlocTree {
 public:
  explicit HwlocTree(const Machine& machine);
  ~HwlocTree() { hwloc_topology_destroy(topology_); }
  HwlocTree(const HwlocTree&) = delete;
  HwlocTree& operator=(const HwlocTree&) = delete;

  std::vector<hwloc_obj_t> numa_nodes() const;
  std::vector<hwloc_obj_t> pci_devices() const;
  /// A fact of the first processor, "CPUVendor", or of the machine, "Architecture"; empty where hwloc has none.
  std::string fact(const char* name) const;
  /// The NUMA node that a device hangs on; -1 where it is several.
  std::int64_t numa_of(hwloc_obj_t device) const;

 private:
  hwloc_topology_t topology_ = nullptr;
};

using PciAttributes = hwloc_obj_attr_u::hwloc_pcidev_attr_s;

/// PCI bridges above a device, nearest first, without the host's bridge.
std::vector<hwloc_obj_t> bridges_above(hwloc_obj_t device);
/// Bus id, class and vendor of a device or a bridge.
const PciAttributes& pci_of(hwloc_obj_t object);
std::string busid_of(hwloc_obj_t object);
/// A NUMA node's processors as Linux writes them: "000000ff,ffffffff".
std::string mask_of(hwloc_obj_t numa);

}  // namespace octet
