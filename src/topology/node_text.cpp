#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "src/base/options/text.h"
#include "src/topology/domain_hosts.h"
#include "src/topology/draw.h"
#include "src/topology/topology_lint.h"

namespace octet {
namespace {

std::string link_text(const PciDevice& d) {
  if (d.link_speed.empty()) return "link unknown";
  return fmt::format("{:.1f} GB/s ({} x{})", link_gbs(d), d.link_speed, d.link_width.value_or(0));
}

std::string nvlink_text(const PciDevice& gpu) {
  const auto count = nvlink_count(gpu);
  if (!count) return "NVLinks not known";
  if (*count == 0) return "no NVLink";
  std::set<std::string> switches, gpus;
  for (const NvLinks& l : *gpu.gpu->nvlinks) {
    (l.target_class.starts_with("0x03") ? gpus : switches).insert(l.target);
  }
  std::string ends;
  if (!switches.empty()) ends += fmt::format(" to {} NVSwitches", switches.size());
  if (!gpus.empty()) ends += fmt::format(" to {} GPUs", gpus.size());
  const double gbs = static_cast<double>(*count) * nvlink_gbs(gpu.gpu->sm.value_or(0));
  return fmt::format("{} NVLinks{}, {:.1f} GB/s", *count, ends, gbs);
}

class TextTree {
 public:
  explicit TextTree(const NodeTopology& topology) : places_(topology), sick_(sick_links(places_)) {}

  std::string draw(const NodeTopology& topology) {
    std::size_t ports = 0;
    for (const DevicePlace& nic : places_.nics) ports += std::max<std::size_t>(1, nic.nets->size());
    out_ = fmt::format("{}: {} GPUs, {} network ports, {} NUMA nodes\n", topology.source, places_.gpus.size(), ports,
                       topology.cpus.size());
    several_hosts_ = hosts_of(topology).size() > 1;
    for (const Cpu& cpu : topology.cpus) draw_cpu(cpu, topology.cpus.size() > 1);
    return out_;
  }

 private:
  void draw_cpu(const Cpu& cpu, bool has_others) {
    if (several_hosts_) out_ += fmt::format("host {}  ", cpu.host_hash);
    out_ += fmt::format("NUMA node {}  {} {}", cpu.numa, cpu.arch, cpu.vendor);
    if (cpu.family) out_ += fmt::format(" family {} model {}", *cpu.family, cpu.model.value_or(0));
    if (has_others) out_ += fmt::format("  {:.0f} GB/s to the others", cpu_link_gbs(cpu));
    out_ += '\n';
    const std::size_t lines = cpu.devices.size() + cpu.nets.size();
    for (std::size_t i = 0; i < cpu.devices.size(); ++i) draw_device(cpu.devices[i], "", i + 1 == lines);
    for (std::size_t i = 0; i < cpu.nets.size(); ++i) {
      const bool last = cpu.devices.size() + i + 1 == lines;
      out_ += fmt::format("{}{}\n", last ? "└─ " : "├─ ", net_text(cpu.nets[i]));
    }
  }

  void draw_device(const PciDevice& d, const std::string& indent, bool last) {
    out_ += fmt::format("{}{}{}  {}", indent, last ? "└─ " : "├─ ", title(d), link_text(d));
    if (d.is_gpu()) out_ += "  " + nvlink_text(d);
    for (const BadLink& s : sick_) {
      if (s.device == &d) out_ += fmt::format("  !! {}, expected {}", s.seen, s.expected);
    }
    out_ += '\n';
    const std::string below = indent + (last ? "   " : "│  ");
    for (std::size_t i = 0; i < d.children.size(); ++i) {
      draw_device(d.children[i], below, i + 1 == d.children.size());
    }
  }

  static std::string net_text(const Net& net) {
    std::string text = net.name.empty() ? "card" : net.name;
    if (net.mbps) text += fmt::format(" {} Gb/s", *net.mbps / 1000);
    if (net.gdr && !*net.gdr) text += " without GPUDirect";
    return text;
  }

  static std::string title(const PciDevice& d) {
    if (d.is_gpu()) {
      const std::string number = d.gpu && d.gpu->dev ? fmt::format("GPU {}", *d.gpu->dev) : "GPU";
      return fmt::format("{:<18} {}", number, d.busid);
    }
    if (d.is_bridge()) return fmt::format("{:<18} {}", "switch", d.busid);
    std::vector<std::string> ports;
    for (const Net& net : d.nets) ports.push_back(net_text(net));
    return fmt::format("{:<18} {}", ports.empty() ? "card" : joined(ports), d.busid);
  }

  Places places_;
  std::vector<BadLink> sick_;
  bool several_hosts_ = false;
  std::string out_;
};

}  // namespace

std::string to_text(const NodeTopology& topology) {
  return TextTree(topology).draw(topology);
}

}  // namespace octet
