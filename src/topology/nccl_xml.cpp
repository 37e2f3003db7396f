#include "src/topology/nccl_xml.h"

#include <string_view>

#include "src/base/error.h"
#include "src/topology/xml_fields.h"

namespace octet {
namespace {

std::string_view name_of(pugi::xml_node node) {
  return node.name();
}

Net read_net(const XmlFile& file, pugi::xml_node node) {
  return {.name = file.text(node, "name"),
          .guid = file.text(node, "guid"),
          .dev = file.integer(node, "dev"),
          .mbps = file.integer(node, "speed"),
          .port = file.integer(node, "port"),
          .latency_us = file.number(node, "latency"),
          .gdr = file.flag(node, "gdr"),
          .line = file.line_of(node)};
}

void read_nets(const XmlFile& file, pugi::xml_node nic, std::vector<Net>& nets) {
  for (const pugi::xml_node net : nic.children("net")) nets.push_back(read_net(file, net));
}

Gpu read_gpu(const XmlFile& file, pugi::xml_node node) {
  Gpu gpu{.dev = file.integer(node, "dev"),
          .sm = file.integer(node, "sm"),
          .rank = file.integer(node, "rank"),
          .gdr = file.flag(node, "gdr"),
          .nvlinks = std::vector<NvLinks>()};
  for (const pugi::xml_node link : node.children("nvlink")) {
    gpu.nvlinks->push_back({.target = file.text(link, "target"),
                            .count = file.integer(link, "count").value_or(1),
                            .target_class = file.text(link, "tclass")});
  }
  return gpu;
}

PciDevice read_pci(const XmlFile& file, pugi::xml_node node) {
  PciDevice d;
  d.line = file.line_of(node);
  d.busid = file.required_text(node, "busid");
  d.device_class = file.text(node, "class");
  d.vendor = file.text(node, "vendor");
  d.device = file.text(node, "device");
  d.subsystem_vendor = file.text(node, "subsystem_vendor");
  d.subsystem_device = file.text(node, "subsystem_device");
  d.link_speed = file.text(node, "link_speed");
  d.link_width = file.integer(node, "link_width");
  d.keep = file.text(node, "keep");
  for (const pugi::xml_node child : node.children()) {
    if (name_of(child) == "pci") d.children.push_back(read_pci(file, child));
    if (name_of(child) == "nic") read_nets(file, child, d.nets);
    if (name_of(child) == "gpu") {
      if (d.gpu) ++d.further_gpus;
      if (!d.gpu) d.gpu = read_gpu(file, child);
    }
  }
  if (!d.is_bridge()) d.children.clear();  // as NCCL leaves them out
  if (d.gpu && !d.nets.empty()) {
    throw usage_error("topology", "{} {} has a <gpu> and a <net>, expected one of them", file.place(node), d.busid);
  }
  return d;
}

Cpu read_cpu(const XmlFile& file, pugi::xml_node node) {
  Cpu cpu;
  cpu.line = file.line_of(node);
  cpu.numa = file.required_integer(node, "numaid");
  cpu.host_hash = file.text(node, "host_hash");
  cpu.affinity = file.text(node, "affinity");
  cpu.arch = file.text(node, "arch");
  cpu.vendor = file.text(node, "vendor");
  cpu.family = file.integer(node, "familyid");
  cpu.model = file.integer(node, "modelid");
  for (const pugi::xml_node child : node.children()) {
    if (name_of(child) == "pci") cpu.devices.push_back(read_pci(file, child));
    if (name_of(child) == "nic") read_nets(file, child, cpu.nets);
  }
  return cpu;
}

}  // namespace

NodeTopology parse_topology(const std::string& text, const std::string& source) {
  const XmlFile file(text, source);
  const pugi::xml_node system = file.root("system");
  const std::int64_t version = file.required_integer(system, "version");
  if (version != 1) {
    throw usage_error("topology", "{} version = {}: expected 1, the only one that NCCL reads", file.place(system),
                      version);
  }
  NodeTopology topology{.source = source, .cpus = {}};
  for (const pugi::xml_node cpu : system.children("cpu")) topology.cpus.push_back(read_cpu(file, cpu));
  if (topology.cpus.empty()) throw usage_error("topology", "{} has no <cpu>", file.place(system));
  return topology;
}

}  // namespace octet
