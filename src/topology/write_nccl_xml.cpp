#include <fmt/format.h>

#include <pugixml.hpp>
#include <sstream>

#include "src/topology/nccl_xml.h"

namespace octet {
namespace {

void put(pugi::xml_node node, const char* name, const std::string& value) {
  if (!value.empty()) node.append_attribute(name) = value.c_str();
}

void put(pugi::xml_node node, const char* name, const std::optional<std::int64_t>& value) {
  if (value) node.append_attribute(name) = static_cast<long long>(*value);
}

void put(pugi::xml_node node, const char* name, const std::optional<bool>& value) {
  if (value) node.append_attribute(name) = *value ? 1 : 0;
}

void write_nets(pugi::xml_node parent, const std::vector<Net>& nets) {
  if (nets.empty()) return;
  pugi::xml_node nic = parent.append_child("nic");
  for (const Net& net : nets) {
    pugi::xml_node node = nic.append_child("net");
    put(node, "name", net.name);
    put(node, "dev", net.dev);
    put(node, "speed", net.mbps);
    put(node, "port", net.port);
    if (net.latency_us) node.append_attribute("latency") = fmt::format("{:.6f}", *net.latency_us).c_str();
    put(node, "gdr", net.gdr);
  }
}

void write_gpu(pugi::xml_node parent, const Gpu& gpu) {
  pugi::xml_node node = parent.append_child("gpu");
  put(node, "dev", gpu.dev);
  put(node, "sm", gpu.sm);
  put(node, "gdr", gpu.gdr);
  if (!gpu.nvlinks) return;
  for (const NvLinks& links : *gpu.nvlinks) {
    pugi::xml_node link = node.append_child("nvlink");
    put(link, "target", links.target);
    put(link, "count", std::optional(links.count));
    put(link, "tclass", links.target_class);
  }
}

void write_device(pugi::xml_node parent, const PciDevice& d) {
  pugi::xml_node node = parent.append_child("pci");
  put(node, "busid", d.busid);
  put(node, "class", d.device_class);
  put(node, "vendor", d.vendor);
  put(node, "device", d.device);
  put(node, "subsystem_vendor", d.subsystem_vendor);
  put(node, "subsystem_device", d.subsystem_device);
  put(node, "link_speed", d.link_speed);
  put(node, "link_width", d.link_width);
  put(node, "keep", d.keep);
  if (d.gpu) write_gpu(node, *d.gpu);
  write_nets(node, d.nets);
  for (const PciDevice& child : d.children) write_device(node, child);
}

}  // namespace

std::string to_nccl_xml(const NodeTopology& topology) {
  pugi::xml_document document;
  pugi::xml_node system = document.append_child("system");
  system.append_attribute("version") = 1;
  for (const Cpu& cpu : topology.cpus) {
    pugi::xml_node node = system.append_child("cpu");
    put(node, "numaid", std::optional(cpu.numa));
    put(node, "affinity", cpu.affinity);
    put(node, "arch", cpu.arch);
    put(node, "vendor", cpu.vendor);
    put(node, "familyid", cpu.family);
    put(node, "modelid", cpu.model);
    for (const PciDevice& device : cpu.devices) write_device(node, device);
    write_nets(node, cpu.nets);
  }
  std::ostringstream out;
  // NCCL's reader knows no declaration.
  document.save(out, "  ", pugi::format_indent | pugi::format_no_declaration);
  std::string text = out.str();
  // pugixml sets a space before "/>", which NCCL takes for the start of an attribute without a name.
  for (std::size_t at = 0; (at = text.find(" />\n", at)) != std::string::npos;) text.erase(at, 1);
  return text;
}

}  // namespace octet
