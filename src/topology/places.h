#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/named_enum.h"
#include "src/topology/node_topology.h"

namespace octet {

// Where the GPUs and cards of a node lie to each other, and how fast the links between them are.

/// How traffic between two devices goes, by NCCL's names (NCCL 2.28.9-1, src/graph/topo.h): PIX one PCIe switch, PXB
/// several, PHB through the CPU, SYS through the link between CPUs. The later, the slower.
enum class PathType { same, pix, pxb, phb, sys };
constexpr auto names_of(PathType) {
  return std::to_array<std::string_view>({"LOC", "PIX", "PXB", "PHB", "SYS"});
}

/// A GPU or a network card with the devices above it. Points into the topology.
struct DevicePlace {
  const Cpu* cpu = nullptr;
  std::vector<const PciDevice*> chain;  ///< from below the CPU to the device itself; empty: a card without PCI device
  const std::vector<Net>* nets = nullptr;

  const PciDevice* device() const { return chain.empty() ? nullptr : chain.back(); }
  /// "GPU 3 (0000:4e:00.0)", "mlx5_0 (0000:18:00.0)".
  std::string name() const;
};

struct Places {
  std::vector<DevicePlace> gpus, nics, bridges;
  explicit Places(const NodeTopology& topology);
};

PathType path_type(const DevicePlace& a, const DevicePlace& b);

/// 10^8 bits a second and lane, as NCCL reads the text of a link's speed; nothing where it knows no such text.
std::optional<double> lane_rate(const std::string& link_speed);
/// GB/s one way as NCCL counts them: 8 GT/s for a speed it does not know, 16 lanes for a width it does not know.
double link_gbs(const PciDevice& device);
/// GB/s between two CPUs as NCCL counts them (src/graph/topo.h).
double cpu_link_gbs(const Cpu& cpu);
/// Links to other GPUs and switches; nothing: not known.
std::optional<std::int64_t> nvlink_count(const PciDevice& gpu);
/// The compute capability, such as 90 for an H100, by its file or by the PCI number of its chip; 0 is unknown.
std::int64_t compute_capability(const PciDevice& gpu);
/// GB/s of one NVLink by compute capability (src/graph/topo.h: SM90_NVLINK_BW ...).
double nvlink_gbs(std::int64_t sm);

}  // namespace octet
