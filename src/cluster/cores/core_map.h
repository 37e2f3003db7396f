#pragma once

#include <string>
#include <vector>

#include "src/cluster/cores/cpu_list.h"
#include "src/cluster/machine/machine.h"

struct hwloc_topology;

namespace octet {

/// The cores of a machine as hwloc sees them. hwloc knows which CPUs are hardware threads of one core, whatever their
/// numbers: threads of a core are numbered side by side on some machines, and at a distance on others.
class CoreMap {
 public:
  /// This machine (or what HWLOC_XMLFILE and the like put in its place). Usage error where such a variable leads to
  /// none, internal error where hwloc finds none.
  CoreMap();
  /// A made-up machine, in hwloc's words: "pack:2 numa:1 core:56 pu:2".
  static CoreMap synthetic(const std::string& description);
  ~CoreMap();
  CoreMap(CoreMap&& other) noexcept;
  CoreMap(const CoreMap&) = delete;
  CoreMap& operator=(const CoreMap&) = delete;
  CoreMap& operator=(CoreMap&&) = delete;

  /// The CPUs of each core. Cores that follow each other share caches and NUMA nodes.
  std::vector<CpuList> cores() const;
  /// The CPUs of each NUMA node, by the numbers that Linux gives to nodes; empty for numbers that are none.
  std::vector<CpuList> numa_nodes() const;

  /// The CPUs that this process may run on now.
  CpuList allowed() const;
  /// Puts all threads of this process onto these CPUs. Why it cannot be done, as where the map is of another machine;
  /// empty where it was.
  std::string bind(const CpuList& cpus) const;

 private:
  explicit CoreMap(hwloc_topology* topology) : topology_(topology) {}

  hwloc_topology* topology_ = nullptr;
};

/// The CPUs near a PCI device ("0000:1b:00.0"), those of its NUMA node, as the kernel has them; none where it does not
/// say, as in a virtual machine where devices are of no node.
CpuList cpus_near(const Machine& machine, const std::string& pci_address);

}  // namespace octet
