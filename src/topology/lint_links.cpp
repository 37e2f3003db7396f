#include <fmt/format.h>

#include <algorithm>

#include "src/base/options/text.h"
#include "src/topology/topology_lint.h"

namespace octet {
namespace {

std::string text_of(const PciDevice& d) {
  const std::string speed = d.link_speed.empty() ? "no link_speed" : in_quotes(d.link_speed);
  const std::string width = d.link_width.value_or(0) > 0 ? fmt::format(" x{}", *d.link_width) : "";
  return fmt::format("{}{}: {:.1f} GB/s to NCCL", speed, width, link_gbs(d));
}

double fastest(const std::vector<DevicePlace>& places) {
  double gbs = 0;
  for (const DevicePlace& p : places) {
    if (p.device() != nullptr) gbs = std::max(gbs, link_gbs(*p.device()));
  }
  return gbs;
}

/// The fastest GPU or card below a bridge; 0 where there is none.
double fastest_below(const PciDevice& bridge) {
  double gbs = 0;
  for (const PciDevice& child : bridge.children) {
    gbs = std::max(gbs, child.is_bridge() ? fastest_below(child) : link_gbs(child));
  }
  return gbs;
}

bool is_below(const PciDevice& bridge, bool (*wanted)(const PciDevice&)) {
  return std::ranges::any_of(bridge.children,
                             [&](const PciDevice& child) { return wanted(child) || is_below(child, wanted); });
}

/// GPUs and cards that meet below a bridge send nothing through its own link but what is for the CPU. GPUs without
/// NVLink reach each other through it as well.
bool is_for_cpu_alone(const PciDevice& bridge) {
  const auto is_card = [](const PciDevice& d) { return d.is_nic(); };
  const auto is_gpu = [](const PciDevice& d) { return d.is_gpu(); };
  const auto is_without_nvlink = [](const PciDevice& d) { return d.is_gpu() && nvlink_count(d) == 0; };
  return is_below(bridge, is_card) && is_below(bridge, is_gpu) && !is_below(bridge, is_without_nvlink);
}

/// What the PCIe generation of a GPU gives with 16 lanes; 0: unknown.
double gpu_target_gbs(const PciDevice& d) {
  const std::int64_t sm = compute_capability(d);
  return sm >= 90 ? 48 : sm >= 80 ? 24 : 0;
}

/// All lanes, one PCIe generation below what the GPU could do: as in a machine that is older than its GPUs.
bool is_in_older_slot(const PciDevice& gpu) {
  return gpu.link_width.value_or(0) >= 16 && link_gbs(gpu) >= 0.45 * gpu_target_gbs(gpu);
}

double ports_gbs(const DevicePlace& nic) {
  double mbps = 0;
  for (const Net& net : *nic.nets) mbps += static_cast<double>(std::max<std::int64_t>(net.mbps.value_or(0), 0));
  return mbps / 8000;
}

void check_pci(const DevicePlace& place, double target_gbs, std::vector<BadLink>& sick,
               BadLink::Kind slow = BadLink::Kind::pci) {
  if (place.device() == nullptr) return;
  const PciDevice& d = *place.device();
  const std::string name = place.name();
  if (!d.link_speed.empty() && !lane_rate(d.link_speed)) {
    sick.push_back({&d, name, text_of(d), "a text that NCCL knows, as \"32.0 GT/s PCIe\" or \"32 GT/s\""});
  } else if (d.link_speed.empty() && d.running_speed.empty()) {
    return;  // NCCL reads it from /sys
  } else if (link_gbs(d) < 0.99 * target_gbs) {
    sick.push_back({&d, name, text_of(d), fmt::format("{:.1f} GB/s", target_gbs), slow});
  } else if (d.running_width.value_or(0) < d.link_width.value_or(0) && d.running_width) {
    sick.push_back({&d, name, fmt::format("runs with {} lanes of {}", *d.running_width, *d.link_width),
                    fmt::format("x{}", *d.link_width)});
  } else if (d.is_nic() && !d.running_speed.empty() && d.running_speed != d.link_speed) {
    // GPUs slow their link down when idle; cards do not.
    sick.push_back({&d, name, "runs at " + d.running_speed, d.link_speed});
  }
}

void check_ports(const Places& places, std::vector<BadLink>& sick) {
  std::int64_t fastest_mbps = 0;
  for (const DevicePlace& nic : places.nics) {
    for (const Net& net : *nic.nets) fastest_mbps = std::max(fastest_mbps, net.mbps.value_or(0));
  }
  for (const DevicePlace& nic : places.nics) {
    for (const Net& net : *nic.nets) {
      const auto add = [&](std::string seen, std::string expected) {
        sick.push_back({nic.device(), net.name, std::move(seen), std::move(expected), BadLink::Kind::port});
      };
      if (net.mbps.value_or(fastest_mbps) < fastest_mbps) {
        add(fmt::format("{} Mb/s", *net.mbps), fmt::format("{} Mb/s as the fastest", fastest_mbps));
      }
      if (net.gdr && !*net.gdr) add("gdr=\"0\"", "gdr=\"1\"");
    }
  }
}

std::int64_t full_nvlinks(const Places& places) {
  std::int64_t most = 0;
  for (const DevicePlace& gpu : places.gpus) {
    const auto count = nvlink_count(*gpu.device());
    most = std::max(most, count.value_or(0));
    if (count.value_or(0) == 0 || gpu.device()->gpu->nvlinks->front().target_class != "0x068000") continue;
    const std::int64_t sm = compute_capability(*gpu.device());  // with NVSwitches all links are in use
    most = std::max<std::int64_t>(most, sm >= 90 ? 18 : sm == 80 ? 12 : 0);
  }
  return most;
}

void check_nvlinks(const Places& places, std::vector<BadLink>& sick) {
  const std::int64_t full = full_nvlinks(places);
  for (const DevicePlace& gpu : places.gpus) {
    const auto count = nvlink_count(*gpu.device());
    if (!count || *count >= full) continue;
    sick.push_back(
        {gpu.device(), gpu.name(), fmt::format("{} NVLinks", *count), fmt::format("{}", full), BadLink::Kind::nvlink});
  }
}

/// Nothing where no link is of this kind.
Findings summary(const std::string& check, const std::vector<BadLink>& sick, BadLink::Kind kind, FindingState state,
                 const std::string& advice) {
  std::vector<std::string> seen, expected;
  for (const BadLink& s : sick) {
    if (s.kind != kind) continue;
    seen.push_back(s.name + " " + s.seen);
    if (std::ranges::find(expected, s.expected) == expected.end()) expected.push_back(s.expected);
  }
  if (seen.empty()) return {};
  return {{check, state, some_of(seen, "; "), joined(expected, "; "), advice}};
}

Findings summary_of_pci(const Places& places, const std::vector<BadLink>& sick) {
  const char* check = "topology.pci_links";
  Findings findings = summary(check, sick, BadLink::Kind::pci, FindingState::bad,
                              "reseat the card or its riser and look at lspci -vv (LnkSta); in a virtual machine give "
                              "NCCL the machine's own file by NCCL_TOPO_FILE");
  const Findings slots =
      summary(check, sick, BadLink::Kind::slot, FindingState::warning,
              "all GPUs alike: the machine's PCIe may be older than the GPUs, as on A100 machines of PCIe 3; else look "
              "at lspci -vv (LnkSta) and the PCIe speed in the BIOS");
  findings.insert(findings.end(), slots.begin(), slots.end());
  const Findings uplinks =
      summary(check, sick, BadLink::Kind::uplink, FindingState::warning,
              "GPUs and cards meet below these bridges, so only traffic with the CPU takes their own links: right in "
              "the file of a provider, whose bridges are virtual; else look at lspci -vv (LnkSta)");
  findings.insert(findings.end(), uplinks.begin(), uplinks.end());
  if (!findings.empty()) return findings;
  return {good(check, fmt::format("GPUs {:.1f} GB/s, cards {:.1f} GB/s", fastest(places.gpus), fastest(places.nics)))};
}

Finding summary_of_nvlinks(const Places& places, const std::vector<BadLink>& sick) {
  const char* check = "topology.nvlinks";
  const bool known =
      std::ranges::any_of(places.gpus, [](const DevicePlace& g) { return nvlink_count(*g.device()).has_value(); });
  if (!known) {
    return {check, FindingState::absent, places.gpus.empty() ? "no GPU" : "not known without the driver", "", ""};
  }
  const Findings found = summary(check, sick, BadLink::Kind::nvlink, FindingState::bad,
                                 "nvidia-smi nvlink -s; the GPU with the fewest links sets the pace of all");
  if (!found.empty()) return found[0];
  const std::int64_t full = full_nvlinks(places);
  return good(check, full == 0 ? "no GPU has any" : fmt::format("{} a GPU", full));
}

}  // namespace

std::string some_of(const std::vector<std::string>& parts, const char* separator) {
  constexpr std::size_t most = 4;
  if (parts.size() <= most + 1) return joined(parts, separator);
  return fmt::format("{} and {} more", joined({parts.begin(), parts.begin() + most}, separator), parts.size() - most);
}

std::vector<BadLink> sick_links(const Places& places) {
  std::vector<BadLink> sick;
  const double gpu_gbs = fastest(places.gpus), nic_gbs = fastest(places.nics);
  for (const DevicePlace& gpu : places.gpus) {
    const bool is_as_all = link_gbs(*gpu.device()) >= 0.99 * gpu_gbs;
    const auto kind = is_as_all && is_in_older_slot(*gpu.device()) ? BadLink::Kind::slot : BadLink::Kind::pci;
    check_pci(gpu, std::max(gpu_gbs, gpu_target_gbs(*gpu.device())), sick, kind);
  }
  for (const DevicePlace& nic : places.nics) check_pci(nic, std::max(nic_gbs, 0.9 * ports_gbs(nic)), sick);
  for (const DevicePlace& bridge : places.bridges) {
    const auto kind = is_for_cpu_alone(*bridge.device()) ? BadLink::Kind::uplink : BadLink::Kind::pci;
    check_pci(bridge, fastest_below(*bridge.device()), sick, kind);
  }
  check_nvlinks(places, sick);
  check_ports(places, sick);
  return sick;
}

Findings lint_links(const Places& places) {
  if (places.gpus.empty() && places.nics.empty()) {
    return {{"topology.pci_links", FindingState::absent, "no GPU and no network card", "", ""},
            {"topology.nvlinks", FindingState::absent, "no GPU", "", ""}};
  }
  const std::vector<BadLink> sick = sick_links(places);
  Findings findings = summary_of_pci(places, sick);
  findings.push_back(summary_of_nvlinks(places, sick));
  return findings;
}

}  // namespace octet
