// What NCCL does not run: the loops of ncclTopoTuneModel that leave entries out and its switches, and
// updateCollCostTable.
#include "src/tuning/cost_model/cost_lines.h"

namespace octet::cost_lines {
namespace {

// More GPUs a node than NCCL_MAX_DIRECT_ARITY + 1 or than NCCL_MAX_NVLS_ARITY have no such algorithm.
constexpr int most_collnet_ranks = 8;
constexpr int most_nvls_ranks = 32;

/// GPUs a node from which NCCL tries NVLink SHARP (ncclNvlsInit in src/transport/nvls.cc: `gpuCount <= 2` turns it off
/// from 2.27.3 to 2.28.3, `gpuCount < 2` from 2.28.7 on).
int least_nvls_ranks(const NcclVersion& version) {
  return version < NcclVersion{2, 28, 7} ? 3 : 2;
}

std::string_view pat(const Case& wanted) {
  return wanted.shape.ranks_per_node == 1 ? "" : "pat takes one GPU a node";
}

std::string_view collnet(const Case& wanted) {
  if (wanted.shape.nodes == 1) return "it reduces in the network's switches: one node has none";
  if (!wanted.machine.sharp) return "NCCL_COLLNET_ENABLE is not set, or the network has no SHARP";
  return wanted.shape.ranks_per_node > most_collnet_ranks ? "more than 8 GPUs a node" : "";
}

// All-gather and reduce-scatter through switches: every GPU must have a NIC of its own.
std::string_view gathering_switches(const Case& wanted) {
  if (wanted.all_reduce() || wanted.shape.nodes == 1) return "";
  return wanted.machine.nics < wanted.machine.gpus ? "not every GPU has a NIC" : "";
}

std::string_view nvls(const Case& wanted, Algorithm algorithm) {
  const bool tree = algorithm == Algorithm::nvls_tree;
  if (wanted.machine.generation < GpuGeneration::hopper) return "this GPU has no NVLink SHARP";
  if (!wanted.machine.nvls) return "NVLink SHARP is off (NCCL_NVLS_ENABLE, or no multicast)";
  if (wanted.shape.ranks_per_node < least_nvls_ranks(wanted.version)) {
    return least_nvls_ranks(wanted.version) == 2 ? "NVLink SHARP takes at least two GPUs a node"
                                                 : "NVLink SHARP takes at least three GPUs a node before 2.28.7";
  }
  if (tree && wanted.shape.nodes == 1) return "nvls_tree is for several nodes";
  if (!tree && wanted.shape.nodes > 1 && !wanted.machine.sharp) return "between nodes nvls needs SHARP in the network";
  if (!wanted.all_reduce() && wanted.shape.ranks_per_node > most_nvls_ranks) return "more than 32 GPUs a node";
  const int least = wanted.version < NcclVersion{2, 28, 0} ? 1 : 2;
  return wanted.graphs.nvls.channels < least ? "too few channels fit the links for NVLink SHARP" : "";
}

std::string_view by_algorithm(const Case& wanted, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::ring:
    case Algorithm::tree:
      return "";
    case Algorithm::collnet_direct:
    case Algorithm::collnet_chain:
      return collnet(wanted);
    case Algorithm::nvls:
    case Algorithm::nvls_tree:
      return nvls(wanted, algorithm);
    case Algorithm::pat:
      return pat(wanted);
  }
  return "";
}

}  // namespace

const SearchedGraph& Case::graph(Algorithm algorithm) const {
  switch (algorithm) {
    case Algorithm::ring:
      return graphs.ring;
    case Algorithm::nvls:
    case Algorithm::nvls_tree:
      return graphs.nvls;
    case Algorithm::collnet_direct:
    case Algorithm::collnet_chain:
      return graphs.collnet;
    case Algorithm::tree:
    case Algorithm::pat:
      return graphs.tree;
  }
  return graphs.ring;
}

std::string_view why_excluded(const Case& wanted, Algorithm algorithm, Protocol protocol) {
  if (!nccl_has(wanted.collective, algorithm, Protocol::simple)) {
    return "NCCL has no such algorithm for this collective";
  }
  if (!nccl_has(wanted.collective, algorithm, protocol)) return "this algorithm has protocol simple alone";
  const std::string_view reason = by_algorithm(wanted, algorithm);
  if (!reason.empty()) return reason;
  if (protocol == Protocol::ll128 && !wanted.machine.ll128 && wanted.shape.nodes > 1) {
    return "ll128 is not safe on the path between GPU and NIC";
  }
  const bool switches = algorithm == Algorithm::nvls || algorithm == Algorithm::collnet_direct;
  return switches ? gathering_switches(wanted) : "";
}

}  // namespace octet::cost_lines
