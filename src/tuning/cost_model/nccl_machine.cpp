#include "src/tuning/cost_model/nccl_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/base/error.h"
#include "src/base/options/text.h"
#include "src/cluster/environment/job_environment.h"
#include "src/cluster/environment/value_check.h"
#include "src/cluster/profile.h"

namespace octet {
namespace {

struct GpuKind {
  std::string_view word;  // in the profile's gpus.type
  GpuGeneration generation;
  double nvlink_gbs;  // links x GB/s (src/graph/topo.h at v2.28.9-1)
  double slot_gbs;    // PCIe x16
};

constexpr double pcie_4 = 24;
constexpr double pcie_5 = 48;
constexpr std::array kinds{
    GpuKind{"H800", GpuGeneration::hopper, 8 * 20.6, pcie_5},
    GpuKind{"H100", GpuGeneration::hopper, 18 * 20.6, pcie_5},
    GpuKind{"H200", GpuGeneration::hopper, 18 * 20.6, pcie_5},
    GpuKind{"H20", GpuGeneration::hopper, 18 * 20.6, pcie_5},
    GpuKind{"B200", GpuGeneration::blackwell, 18 * 40.1, pcie_5},
    GpuKind{"A100", GpuGeneration::ampere, 12 * 20, pcie_4},
};

/// Null: none that is known.
const GpuKind* find_kind(const std::string& type) {
  for (const char* rack : {"GH200", "GB200", "GB300"}) {  // NVLink between nodes is not modelled
    if (type.find(rack) != std::string::npos) return nullptr;
  }
  const auto* const found = std::find_if(
      kinds.begin(), kinds.end(), [&](const GpuKind& kind) { return type.find(kind.word) != std::string::npos; });
  return found == kinds.end() ? nullptr : &*found;
}

const GpuKind& kind_of(const ClusterProfile& profile) {
  if (const GpuKind* kind = find_kind(profile.gpus.type)) return *kind;
  throw usage_error("tuning",
                    "cluster {}: gpus.type \"{}\" is none whose links are known (H100, H200, H800, H20, B200, A100)",
                    profile.name, profile.gpus.type);
}

// aws-ofi-nccl makes one device of the EFAs of a GPU; NCCL merges ports and virtual functions of one card.
void set_network(NcclMachine& machine, const NicProfile& nics, double slot_gbs) {
  const double line = static_cast<double>(nics.gbps) / 8;
  const int merged = std::max(1, static_cast<int>(nics.per_node) / machine.gpus);
  machine.nics = std::max(1, static_cast<int>(nics.per_node) / merged);
  machine.nic_gbs = std::min(line * merged, slot_gbs);
}

void set_efa(NcclMachine& machine, const NicProfile& nics) {
  const bool first = nics.gbps <= 100;  // p5; p5en has 16 x 200
  machine.net_latency_us = first ? 75 : 35;
  machine.cpu = first ? CpuVendor::amd : CpuVendor::intel;
}

// What the job's environment changes in NCCL's model.
void set_environment(NcclMachine& machine, const ClusterProfile& profile) {
  bool sockets = profile.fabric == Fabric::ethernet, direct = true, own_network = false, no_plugin = false;
  for (const EnvironmentValue& variable : job_environment(profile, "")) {
    const std::string &name = variable.name, &value = variable.value;
    if (name == "NCCL_NET") sockets = same_text(value, "Socket");
    if (name == "NCCL_NET") own_network = sockets || same_text(value, "IB");
    if (name == "NCCL_NET_PLUGIN") no_plugin = value.empty() || same_text(value, "none");
    if (name == "NCCL_NET_GDR_LEVEL") direct = value != "LOC" && value != "0";
    double number = 0;
    if (!parse(value, number)) continue;
    if (name == "NCCL_NET_OVERHEAD" && number >= 0) machine.net_overhead_us = number / 1000;
    if (name == "NCCL_NVLS_ENABLE") machine.nvls = machine.nvls && number != 0;
    if (name == "NCCL_COLLNET_ENABLE") machine.sharp = number != 0;
  }
  if (sockets || !direct) machine.ll128 = false;        // the way to a GPU leads through the CPU
  if (own_network || no_plugin) machine.sharp = false;  // it comes with the network of a plugin
}

}  // namespace

std::string_view gpu_kind(const std::string& text) {
  const GpuKind* kind = find_kind(text);
  return kind == nullptr ? "" : kind->word;
}

NcclMachine machine_of(const ClusterProfile& profile) {
  if (profile.gpus.per_node < 1) {
    throw usage_error("tuning", "cluster {} has no GPUs (gpus.per_node 0), so NCCL does not run there", profile.name);
  }
  const GpuKind& kind = kind_of(profile);
  NcclMachine machine;
  machine.generation = kind.generation;
  machine.gpus = static_cast<int>(profile.gpus.per_node);
  machine.nvlink_gbs = kind.nvlink_gbs;
  machine.nvls = kind.generation >= GpuGeneration::hopper;
  if (profile.nics.per_node > 0 && profile.nics.gbps > 0) set_network(machine, profile.nics, kind.slot_gbs);
  if (profile.fabric == Fabric::efa) set_efa(machine, profile.nics);
  set_environment(machine, profile);
  return machine;
}

}  // namespace octet
