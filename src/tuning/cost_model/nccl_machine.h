#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/tuning/collective.h"
#include "src/tuning/cost_model/model_constants.h"

namespace octet {

struct ClusterProfile;

enum class CpuVendor { intel, amd, other };

/// A node as NCCL's search sees it. Rates are GB/s of one direction.
struct NcclMachine {
  GpuGeneration generation = GpuGeneration::hopper;
  CpuVendor cpu = CpuVendor::intel;
  int gpus = 8;               ///< of a node, all on one NVSwitch
  int nics = 8;               ///< of a node; the ports or devices that NCCL or its plugin merges count as one
  double nvlink_gbs = 370.8;  ///< of one GPU
  double nic_gbs = 48;        ///< of one NIC: its line rate or its slot's, whichever is less
  double net_latency_us = 0;  ///< as the network plugin reports it: 0 for verbs, 35 or 75 for EFA
  std::optional<double> net_overhead_us;  ///< NCCL_NET_OVERHEAD; none: 2 for AMD, 1 for others
  bool nvls = true;                       ///< NVLink SHARP works
  bool sharp = false;                     ///< NCCL_COLLNET_ENABLE=1 and a plugin that has it
  bool ll128 = true;                      ///< paths between GPU and NIC are at most PXN: GPUDirect is on
  /// Says whether NCCL finds balanced trees between nodes (its log has "Pattern 1" and not "Pattern 3" for trees), for
  /// which two GPUs must be near each NIC. It counts plain ones 15 % slower; one GPU a node always has those.
  bool balanced_tree = true;

  bool operator==(const NcclMachine&) const = default;
};

/// What NCCL's model knows of this cluster's nodes. The profile does not say whose CPU it is, nor what the plugin of
/// EFA reports: those are taken from what is known of the machines (p5: AMD, 75 us; later ones 35 us).
/// Where it has no nics.per_node or no nics.gbps, 8 of 400 Gb/s are taken. Of the job's environment count
/// NCCL_NET_OVERHEAD, NCCL_NVLS_ENABLE, NCCL_NET_GDR_LEVEL=LOC and NCCL_NET=Socket, and NCCL_COLLNET_ENABLE where the
/// network is a plugin's. Usage errors for clusters without GPUs and for GPUs of an unknown kind.
NcclMachine machine_of(const ClusterProfile& profile);

/// The kind of GPU that a profile's gpus.type or a device's name says: "H100"; empty: none whose links are known.
std::string_view gpu_kind(const std::string& text);

/// Changes one field: "nics=4", "nic-gbs=25", "cpu=amd", "sharp=1". Usage errors name the fields or what a value must
/// be.
void set_field(NcclMachine& machine, std::string_view assignment);

/// One of NCCL's graphs after its search: so many channels of so many GB/s each.
struct SearchedGraph {
  int channels = 0;
  double intra_gbs = 0;
  double inter_gbs = 0;
};

struct SearchedGraphs {
  SearchedGraph ring, tree, nvls, collnet;
  int channels = 0;            ///< of the communicator: twice those of the rings
  bool same_channels = false;  ///< all rings have one order of GPUs
};

/// What the search finds for a communicator, worked out for nodes whose GPUs share one NVSwitch and have their NICs at
/// equal distance (NVIDIA/nccl, src/graph/search.cc, connect.cc at v2.27.7-1 and v2.28.9-1). An H100 node gets rings of
/// 12 x 30 alone and of 8 x 48 with 8 NICs of 400 Gb/s.
SearchedGraphs search_graphs(const NcclMachine& machine, CommShape shape);

}  // namespace octet
