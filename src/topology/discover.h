#pragma once

#include "src/cluster/machine/machine.h"
#include "src/topology/node_topology.h"

namespace octet {

/// The topology of a machine as NCCL would find it, without NCCL and without a driver: GPUs of NVIDIA (PCI class
/// 0x03.., vendor 0x10de) and network cards with a verbs device, with the switches above them as NCCL walks /sys, and
/// what the links can do and do now. NVLinks and compute capability are the driver's to know and stay open. hwloc gives
/// the tree (HWLOC_XMLFILE is obeyed), /sys the links; in a snapshot hwloc reads commands/hwloc.xml (`lstopo --of
/// xml`). Usage error where hwloc fails, as for a snapshot without that file.
NodeTopology discover(const Machine& machine);

}  // namespace octet
