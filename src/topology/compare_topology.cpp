#include "src/topology/compare_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/base/options/text.h"
#include "src/topology/domain_hosts.h"
#include "src/topology/places.h"

namespace octet {
namespace {

/// What of a device two nodes can be compared by: name of a property, its text.
using Properties = std::map<std::string, std::string>;

struct Device {
  std::string name;
  Properties properties;
};

std::string flag_text(const std::optional<bool>& value) {
  return value ? (*value ? "1" : "0") : "unknown";
}

Properties properties_of(const DevicePlace& place) {
  Properties p;
  p["NUMA node"] = std::to_string(place.cpu->numa);
  p["bridges above"] = std::to_string(place.chain.empty() ? 0 : place.chain.size() - 1);
  if (const PciDevice* d = place.device()) {
    p["class"] = d->device_class;
    p["model"] = d->vendor + ":" + d->device;
    p["link"] = fmt::format("{} x{}", d->link_speed, d->link_width.value_or(0));
    if (d->running_width) p["lanes in use"] = std::to_string(*d->running_width);
    if (const auto count = nvlink_count(*d)) p["NVLinks"] = std::to_string(*count);
    if (d->gpu) p["gdr"] = flag_text(d->gpu->gdr);
  }
  for (const Net& net : *place.nets) {
    const std::string port = place.nets->size() == 1 ? "" : net.name + " ";
    p[port + "name"] = net.name;
    p[port + "rate"] = net.mbps ? fmt::format("{} Mb/s", *net.mbps) : "unknown";
    p[port + "gdr"] = flag_text(net.gdr);
  }
  return p;
}

/// Bus ids are those of one host: what is of the second says so, by number, since another run has other hashes.
std::string host_text(const Cpu& cpu, const std::vector<NodeTopology>& hosts) {
  const auto has_it = [&](const NodeTopology& host) { return is_of(cpu, host); };
  const auto number = std::ranges::find_if(hosts, has_it) - hosts.begin();
  return number == 0 ? "" : fmt::format(" of host {}", number + 1);
}

std::vector<std::pair<std::string, Device>> devices_of(const NodeTopology& topology) {
  std::vector<std::pair<std::string, Device>> devices;
  const std::vector<NodeTopology> hosts = hosts_of(topology);
  const Places places(topology);
  for (const auto* list : {&places.gpus, &places.nics, &places.bridges}) {
    for (const DevicePlace& p : *list) {
      const std::string key = p.device() == nullptr ? "cards without PCI device" : p.device()->busid;
      const std::string host = host_text(*p.cpu, hosts);
      devices.emplace_back(key + host, Device{p.name() + host, properties_of(p)});
    }
  }
  return devices;
}

/// Replaces bus ids by kind and order: "GPU #3".
void number_by_kind(const NodeTopology& topology, std::vector<std::pair<std::string, Device>>& devices) {
  const Places places(topology);
  std::size_t i = 0;
  const auto number = [&](std::size_t count, const char* kind) {
    for (std::size_t n = 0; n < count; ++n, ++i) devices[i].first = fmt::format("{} #{}", kind, n);
  };
  number(places.gpus.size(), "GPU");
  number(places.nics.size(), "card");
  number(places.bridges.size(), "bridge");
}

void add_device_differences(const Device& a, const Device& b, std::vector<std::string>& out) {
  Properties all = a.properties;
  all.insert(b.properties.begin(), b.properties.end());
  for (const auto& [property, ignored] : all) {
    const auto text = [&, &name = property](const Device& d) {
      const auto found = d.properties.find(name);
      return found == d.properties.end() ? std::string("nothing") : found->second;
    };
    if (text(a) != text(b)) out.push_back(fmt::format("{}: {} {}, there {}", a.name, property, text(a), text(b)));
  }
}

std::string cpu_text(const NodeTopology& topology) {
  std::vector<std::string> parts;
  for (const Cpu& cpu : topology.cpus) {
    parts.push_back(fmt::format("{} {} {}/{}", cpu.arch, cpu.vendor, cpu.family.value_or(0), cpu.model.value_or(0)));
  }
  return joined(parts, ", ");
}

}  // namespace

std::vector<std::string> differences(const NodeTopology& a, const NodeTopology& b) {
  auto left = devices_of(a), right = devices_of(b);
  const auto is_there = [&](const auto& device) {
    return std::ranges::any_of(right, [&](const auto& other) { return other.first == device.first; });
  };
  if (static_cast<std::size_t>(std::ranges::count_if(left, is_there)) * 2 < left.size()) {
    number_by_kind(a, left);
    number_by_kind(b, right);
  }
  std::map<std::string, Device> here(left.begin(), left.end()), there(right.begin(), right.end());
  std::vector<std::string> out;
  if (cpu_text(a) != cpu_text(b)) out.push_back(fmt::format("CPUs {}; there {}", cpu_text(a), cpu_text(b)));
  for (const auto& [key, device] : here) {
    const auto other = there.find(key);
    if (other == there.end()) {
      out.push_back(device.name + " is not there");
    } else {
      add_device_differences(device, other->second, out);
    }
  }
  for (const auto& [key, device] : there) {
    if (!here.contains(key)) out.push_back(device.name + " is there alone");
  }
  return out;
}

Finding compare(const NodeTopology& a, const NodeTopology& b) {
  const std::vector<std::string> found = differences(a, b);
  if (found.empty()) return good("topology.same", "as " + b.source);
  return {"topology.same", FindingState::bad, joined(found, "; "), "the same as " + b.source,
          "nodes of one job should be alike: the slowest sets the pace of all"};
}

}  // namespace octet
