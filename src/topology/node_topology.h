#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace octet {

// What NCCL knows of one node, as its topology XML has it (NCCL 2.28.9-1, src/graph/xml.cc and topo.cc). An attribute
// that a file does not have is an empty text or nothing: NCCL fills many in when it starts.

struct NvLinks {
  std::string target;        ///< bus id of the other end; NVSwitches of a VM have none that it can see
  std::int64_t count = 0;    ///< links to it
  std::string target_class;  ///< PCI class: 0x068000 is an NVSwitch, 0x03... a GPU
};

struct Gpu {
  std::optional<std::int64_t> dev, sm, rank;
  std::optional<bool> gdr;
  std::optional<std::vector<NvLinks>> nvlinks;  ///< nothing: not known (files written by hand, a node without driver)
};

/// A port that carries traffic between nodes.
struct Net {
  std::string name, guid;
  std::optional<std::int64_t> dev, mbps, port;  ///< mbps: 10^6 bits a second
  std::optional<double> latency_us;
  std::optional<bool> gdr;
  int line = 0;  ///< of the file; 0: not from a file
};

struct PciDevice {
  std::string busid;         ///< 0000:18:00.0
  std::string device_class;  ///< 0x060400 bridge, 0x0302.. GPU, 0x0200.., 0x0207.. network card
  std::string vendor, device, subsystem_vendor, subsystem_device;  ///< 0x10de
  std::string link_speed;                                          ///< "32.0 GT/s PCIe", the most the link can
  std::optional<std::int64_t> link_width;
  std::string running_speed;  ///< as the link runs now; from a live node alone
  std::optional<std::int64_t> running_width;
  std::string keep;
  std::optional<Gpu> gpu;
  int further_gpus = 0;  ///< that a file has of the same device: parts of it (MLOPart), or ranks that share it
  std::vector<Net> nets;
  std::vector<PciDevice> children;
  int line = 0;

  bool is_gpu() const { return gpu.has_value() || device_class.starts_with("0x03"); }
  bool is_nic() const { return !nets.empty() || device_class.starts_with("0x02"); }
  bool is_bridge() const { return !is_gpu() && !is_nic(); }
};

/// A NUMA node.
struct Cpu {
  std::int64_t numa = -1;
  std::string host_hash, affinity, arch, vendor;
  std::optional<std::int64_t> family, model;
  std::vector<PciDevice> devices;
  std::vector<Net> nets;  ///< without a PCI device of their own
  int line = 0;
};

struct NodeTopology {
  std::string source;  ///< file or host, for messages
  std::vector<Cpu> cpus;
};

}  // namespace octet
