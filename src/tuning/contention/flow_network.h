#pragma once

#include <string>
#include <vector>

namespace octet {

struct ClusterProfile;
struct SlurmTopology;

/// The links of a cluster, as far as traffic between its GPUs meets them. Rates are GB/s (1e9 bytes) of one direction.
struct FlowNetwork {
  int gpus = 8;               ///< of a node, all on one NVSwitch
  int cards = 8;              ///< of a node, as NCCL counts them
  bool rails = true;          ///< cards of equal index share a leaf, each index its own; else one leaf for all cards
  double nvlink_gbs = 370.8;  ///< what a GPU sends over NVLink
  double card_gbs = 48;       ///< what a card sends: its line rate or its slot's, whichever is less
  double wire_gbs = 50;       ///< its line rate, by which the links between switches are counted
  int leaf_nodes = 0;         ///< nodes on the same leaf or set of leaves; 0: not known, taken as one leaf
  double oversubscription = 1;
  int pod_nodes = 0;  ///< 0: one pod
  double pod_oversubscription = 1;
  double latency_us = 2;         ///< from card to card
  double nvlink_latency_us = 1;  ///< from GPU to GPU of a node
};

/// Cards and rates as NCCL counts them (machine_of() of nccl_machine.h), the rest from section `network`.
/// Throws a usage error for clusters without GPUs or network cards.
FlowNetwork shape_of(const ClusterProfile& profile);

/// A node's place in the network.
struct NodePlace {
  std::string host;
  int leaf = 0;
  int pod = 0;
  int lost_cards = 0;  ///< the last ones

  bool operator==(const NodePlace&) const = default;
};

/// The same cards where no link between nodes is shared: all nodes on one leaf.
FlowNetwork uncontended(FlowNetwork shape);
/// The same nodes there, with all their cards.
std::vector<NodePlace> uncontended(std::vector<NodePlace> nodes);

/// Nodes n1 to nCOUNT, leaf by leaf.
std::vector<NodePlace> numbered_nodes(const FlowNetwork& shape, int count);

/// The nodes that a topology of Slurm names, in its order. A leaf of it that holds more than shape.leaf_nodes is
/// several leaves of the network (a topology may name pods alone). Pods are so many leaves in this order as pod_nodes
/// says.
std::vector<NodePlace> nodes_of(const FlowNetwork& shape, const SlurmTopology& topology);

/// The same of a list of hosts alone, in its order: each is told its leaf by the last number in its name, counted from
/// 1 (from 0 where a name has 0). Throws a usage error for a name without a number.
std::vector<NodePlace> nodes_by_number(const FlowNetwork& shape, const std::vector<std::string>& hosts);

}  // namespace octet
