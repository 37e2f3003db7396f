// The latencies of ncclTopoTuneModel (NVIDIA/nccl, src/graph/tuning.cc at v2.27.7-1 and v2.28.9-1).
#include <algorithm>
#include <bit>

#include "src/tuning/cost_model/cost_lines.h"

namespace octet::cost_lines {
namespace {

double at(const AlgorithmTable& table, Algorithm algorithm, Protocol protocol) {
  return table.at(static_cast<std::size_t>(algorithm)).at(static_cast<std::size_t>(protocol));
}

double hardware(const Case& wanted, LinkKind link, Algorithm algorithm, Protocol protocol) {
  return at(wanted.constants.hw_latency.at(static_cast<std::size_t>(link)), algorithm, protocol);
}

// One rank a node sees the network's whole latency, which is the tree's.
double network(const Case& wanted, Algorithm algorithm, Protocol protocol) {
  const Algorithm row = wanted.shape.ranks_per_node == 1 ? Algorithm::tree : algorithm;
  const double nic = wanted.machine.net_latency_us;
  return hardware(wanted, LinkKind::net, row, protocol) + nic + (protocol == Protocol::simple ? nic : 0);
}

double overhead(const Case& wanted, Protocol protocol) {
  if (wanted.shape.nodes == 1) return 0;
  const double us = wanted.machine.net_overhead_us.value_or(wanted.machine.cpu == CpuVendor::amd ? 2 : 1);
  return protocol == Protocol::simple ? us * 3 : us;
}

// Rooted: a chain of all ranks, for which rings with different channels count every hop. Channels of rings between
// nodes differ on machines with a NIC a GPU; inside a node they are the same.
double rooted_ring(const Case& wanted, Protocol protocol) {
  const LinkKind link = wanted.shape.nodes == 1 ? LinkKind::nvlink : LinkKind::net;
  if (wanted.graphs.same_channels) return hardware(wanted, link, Algorithm::ring, protocol);
  const Algorithm row = protocol == Protocol::simple ? Algorithm::tree : Algorithm::ring;
  return wanted.steps() * hardware(wanted, link, row, protocol);
}

double ring(const Case& wanted, Protocol protocol) {
  if (wanted.rooted()) return rooted_ring(wanted, protocol);
  const double intra =
      std::max(hardware(wanted, LinkKind::nvlink, Algorithm::ring, protocol), overhead(wanted, protocol));
  const double inter_steps = (wanted.shape.nodes - 1) * (wanted.all_reduce() ? 2 : 1);
  return (wanted.steps() - inter_steps) * intra + inter_steps * network(wanted, Algorithm::ring, protocol);
}

int log2_down(int value) {
  return std::bit_width(static_cast<unsigned>(value)) - 1;
}

}  // namespace

double latency_us(const Case& wanted, Algorithm algorithm, Protocol protocol) {
  const double base = at(wanted.constants.base_latency, algorithm, protocol);
  const double intra = hardware(wanted, LinkKind::nvlink, algorithm, protocol);
  const double inter = network(wanted, algorithm, protocol);
  const int levels = log2_down(wanted.shape.nodes);
  const int others = wanted.shape.ranks_per_node - 1;
  switch (algorithm) {
    case Algorithm::ring:
      return base + ring(wanted, protocol);
    case Algorithm::tree:
      return base + 2 * (others * intra + levels * inter);
    case Algorithm::collnet_direct:
      return base + 2 * (std::min(1, others) * intra + others * .4) + inter;
    case Algorithm::collnet_chain:
      return base + 2 * others * intra + inter;
    case Algorithm::nvls:  // NCCL drops the base here
      return intra + (wanted.shape.nodes > 1 ? inter : 0);
    case Algorithm::nvls_tree:
      return base + intra + 2 * levels * inter;
    case Algorithm::pat:
      return base + levels * inter / 3.5 + wanted.ranks() * 2.8;
  }
  return base;
}

}  // namespace octet::cost_lines
