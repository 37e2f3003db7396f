// The bandwidths of ncclTopoTuneModel (NVIDIA/nccl, src/graph/tuning.cc at v2.27.7-1 and v2.28.9-1).
#include <algorithm>

#include "src/tuning/cost_model/cost_lines.h"

namespace octet::cost_lines {
namespace {

// Of NVLink SHARP, by generation (nvlsEfficiency of 2.28).
double nvls_efficiency(GpuGeneration generation) {
  if (generation == GpuGeneration::blackwell) return .74;
  return generation == GpuGeneration::hopper ? .85 : 0;
}

double at_nodes(const GenerationTable& table, std::size_t row, CommShape shape) {
  return table.at(row).at(static_cast<std::size_t>(std::min(shape.nodes, 3) - 1));
}

double of_generation(const GenerationTable& table, const Case& wanted) {
  return at_nodes(table, static_cast<std::size_t>(wanted.machine.generation), wanted.shape);
}

double ll_max(const Case& wanted) {
  if (wanted.shape.nodes == 1) return of_generation(wanted.constants.ll_max, wanted);
  return at_nodes(wanted.constants.ll_max, wanted.machine.cpu == CpuVendor::amd ? 1 : 0, wanted.shape);
}

// GB/s a channel of NVLink SHARP.
double nvls_channel_2_27(const Case& wanted, Algorithm algorithm) {
  const SearchedGraph& graph = wanted.graphs.nvls;
  if (algorithm == Algorithm::nvls_tree) {
    return std::min(graph.intra_gbs, wanted.shape.nodes <= 2 ? graph.inter_gbs : graph.inter_gbs / 2);
  }
  if (wanted.all_reduce()) return std::min(graph.intra_gbs, graph.inter_gbs);
  const double ranks = wanted.shape.ranks_per_node;
  return std::min(graph.intra_gbs * (ranks - 1) / ranks, graph.inter_gbs * .9);
}

double nvls_channel(const Case& wanted, Algorithm algorithm) {
  if (wanted.version < NcclVersion{2, 28, 0}) return nvls_channel_2_27(wanted, algorithm);
  const SearchedGraph& graph = wanted.graphs.nvls;
  const double channels = graph.channels;
  const double ranks = wanted.shape.ranks_per_node;
  double intra = graph.intra_gbs * nvls_efficiency(wanted.machine.generation) * (channels - 1) / channels;
  intra *= wanted.all_reduce() ? 2 : (ranks - 1) / ranks;
  if (algorithm == Algorithm::nvls) return std::min(intra, graph.inter_gbs);
  const double inter = graph.inter_gbs * (wanted.shape.nodes <= 2 ? 2 : 1);
  return std::min({intra, inter, of_generation(wanted.constants.nvls_tree_max, wanted)});
}

double tree_bus(const Case& wanted, Protocol protocol, double bus) {
  const ModelConstants& constants = wanted.constants;
  const double channels = wanted.graphs.tree.channels;
  bus = std::min(bus * .92, channels * of_generation(constants.tree_max, wanted));
  if (protocol == Protocol::ll) bus = std::min(bus / 3.8, ll_max(wanted));
  if (protocol == Protocol::ll128) {
    const double share = wanted.shape.nodes == 1 ? 7. / 9 : 120. / 128;
    bus = std::min(bus * share, channels * of_generation(constants.tree_ll128_max, wanted));
  }
  const bool plain = wanted.shape.nodes > 1 && (!wanted.machine.balanced_tree || wanted.shape.ranks_per_node == 1);
  return plain ? bus * .85 : bus;
}

double ring_bus(const Case& wanted, Protocol protocol, double bus) {
  if (protocol == Protocol::ll) return std::min(ll_max(wanted), bus * .5);
  if (protocol == Protocol::simple) return bus;
  return std::min(bus * .92, wanted.graphs.ring.channels * of_generation(wanted.constants.ring_ll128_max, wanted));
}

double collnet_direct_bus(const Case& wanted, double bus) {
  const SearchedGraph& graph = wanted.graphs.collnet;
  const double ranks = wanted.shape.ranks_per_node;
  if (!wanted.all_reduce()) return ranks * std::min(graph.intra_gbs, graph.inter_gbs * .9);
  const double gpus_a_nic = ranks / graph.channels;
  bus /= (gpus_a_nic + 1) / 2;
  return wanted.machine.generation >= GpuGeneration::hopper ? bus * .85 : bus;
}

double bus(const Case& wanted, Algorithm algorithm, Protocol protocol) {
  const SearchedGraph& graph = wanted.graph(algorithm);
  const bool collnet = algorithm == Algorithm::collnet_direct || algorithm == Algorithm::collnet_chain;
  const double base = graph.channels * (wanted.shape.nodes <= 2 || collnet ? graph.intra_gbs : graph.inter_gbs);
  switch (algorithm) {
    case Algorithm::tree:
      return tree_bus(wanted, protocol, base);
    case Algorithm::ring:
      return ring_bus(wanted, protocol, base);
    case Algorithm::collnet_direct:
      return collnet_direct_bus(wanted, base);
    case Algorithm::nvls:
    case Algorithm::nvls_tree:
      return graph.channels * nvls_channel(wanted, algorithm);
    case Algorithm::pat:
      return base * .75;
    case Algorithm::collnet_chain:
      break;
  }
  return base;
}

// Algorithm bandwidth over what NCCL calls bus bandwidth.
double ratio(const Case& wanted, Algorithm algorithm) {
  const bool ring = algorithm == Algorithm::ring;
  const bool nvls = algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree;
  if (!ring && !wanted.all_reduce()) return 1;
  if (nvls && wanted.version < NcclVersion{2, 28, 0}) return 5. / 6;
  return ring || nvls ? wanted.ranks() / wanted.steps() : .5;
}

}  // namespace

double algorithm_gbs(const Case& wanted, Algorithm algorithm, Protocol protocol) {
  return bus(wanted, algorithm, protocol) * ratio(wanted, algorithm);
}

}  // namespace octet::cost_lines
