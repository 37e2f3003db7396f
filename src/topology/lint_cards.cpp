#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/base/options/text.h"
#include "src/topology/topology_lint.h"

namespace octet {
namespace {

/// How near the nearest of `others` is.
PathType nearest_type(const DevicePlace& place, const std::vector<DevicePlace>& others) {
  PathType best = PathType::sys;
  for (const DevicePlace& other : others) best = std::min(best, path_type(place, other));
  return best;
}

Finding check_locality(const Places& places) {
  const char* check = "topology.locality";
  std::vector<std::string> far;
  PathType worst = PathType::same;
  const auto judge = [&](const std::vector<DevicePlace>& from, const std::vector<DevicePlace>& to) {
    for (const DevicePlace& place : from) {
      const PathType type = nearest_type(place, to);
      worst = std::max(worst, type);
      if (type > PathType::pxb) far.push_back(fmt::format("{} {}", place.name(), name_of(type)));
    }
  };
  judge(places.nics, places.gpus);
  judge(places.gpus, places.nics);
  if (far.empty()) return good(check, fmt::format("each GPU and its card below one PCIe switch ({})", name_of(worst)));
  const bool flat = places.bridges.empty();
  return {check, FindingState::bad,
          fmt::format("{} of {} devices reach the other kind across the CPU{}: {}", far.size(),
                      places.nics.size() + places.gpus.size(), flat ? ", and there is no PCIe switch at all" : "",
                      some_of(far)),
          "PIX or PXB: a PCIe switch above both",
          flat ? "the PCIe tree of a virtual machine is flat: give NCCL its maker's file by NCCL_TOPO_FILE. Without it "
                 "all traffic takes a copy through host memory (41 GB/s in place of 365: NVIDIA/nccl issue 1303)"
               : "the file of another machine, or a card in a slot of the CPU: GPUDirect RDMA is off beyond PXB"};
}

Finding check_sharing(const Places& places) {
  const char* check = "topology.sharing";
  std::map<const DevicePlace*, double> load;
  for (const DevicePlace& nic : places.nics) load[&nic] = 0;
  for (const DevicePlace& gpu : places.gpus) {
    const PathType best = nearest_type(gpu, places.nics);
    const auto near = [&](const DevicePlace& nic) { return path_type(gpu, nic) == best; };
    const auto count = static_cast<double>(std::ranges::count_if(places.nics, near));
    for (const DevicePlace& nic : places.nics) load[&nic] += near(nic) ? 1 / count : 0;
  }
  const auto [low, high] = std::ranges::minmax_element(load, {}, [](const auto& entry) { return entry.second; });
  if (high->second - low->second < 0.01) return good(check, fmt::format("{:.3g} GPUs a card", high->second));
  return {check, FindingState::warning,
          fmt::format("{} is nearest to {:.3g} GPUs, {} to {:.3g}", high->first->name(), high->second,
                      low->first->name(), low->second),
          "as many GPUs for each card", "all rings run at the speed of the card with the most GPUs"};
}

Finding check_gdr(const Places& places) {
  const char* check = "topology.gpu_direct";
  std::vector<std::string> without;
  bool known = false;
  for (const DevicePlace& nic : places.nics) {
    for (const Net& net : *nic.nets) {
      known = known || net.gdr;
      if (net.gdr && !*net.gdr) without.push_back(net.name);
    }
  }
  for (const DevicePlace& gpu : places.gpus) {
    const auto gdr = gpu.device()->gpu ? gpu.device()->gpu->gdr : std::nullopt;
    known = known || gdr;
    if (gdr && !*gdr) without.push_back(gpu.name());
  }
  if (!known) return {check, FindingState::absent, "not in this file", "", ""};
  if (without.empty()) return good(check, "gdr=\"1\" everywhere");
  return {check, FindingState::bad, fmt::format("gdr=\"0\": {}", some_of(without)), "gdr=\"1\"",
          "modprobe nvidia_peermem, or open kernel modules with dma-buf: every byte takes a copy through host memory"};
}

Finding check_rate(const Places& places, const ClusterProfile* expected) {
  const char* check = "topology.card_rate";
  std::int64_t total = 0, most = 0;
  for (const DevicePlace& nic : places.nics) {
    for (const Net& net : *nic.nets) {
      total += net.mbps.value_or(0);
      most = std::max(most, net.mbps.value_or(0));
    }
  }
  if (most == 0) return {check, FindingState::absent, "not in this file", "", ""};
  std::vector<std::string> slow;
  for (const DevicePlace& nic : places.nics) {
    for (const Net& net : *nic.nets) {
      if (net.mbps.value_or(0) < most) slow.push_back(fmt::format("{} {} Mb/s", net.name, net.mbps.value_or(0)));
    }
  }
  const char* advice = "ibstat, mlxlink: a port that came up with fewer lanes or a wrong cable slows every ring";
  if (!slow.empty())
    return {check, FindingState::bad, some_of(slow), fmt::format("{} Mb/s as the fastest", most), advice};
  const std::int64_t wanted = expected == nullptr ? 0 : expected->nics.per_node * expected->nics.gbps * 1000;
  if (total < wanted) {
    return {check, FindingState::bad, fmt::format("{} Mb/s of all cards together", total),
            fmt::format("{} Mb/s: {} cards of {} Gb/s ({})", wanted, expected->nics.per_node, expected->nics.gbps,
                        expected->name),
            advice};
  }
  return good(check, fmt::format("{} Gb/s a port, {} Gb/s a node", most / 1000, total / 1000));
}

}  // namespace

Findings lint_cards(const Places& places, const ClusterProfile* expected) {
  if (places.nics.empty() || places.gpus.empty()) {
    const char* what = places.nics.empty() ? "no network card" : "no GPU";
    Findings findings;
    for (const char* check : {"topology.locality", "topology.sharing"}) {
      findings.push_back({check, FindingState::absent, what, "", ""});
    }
    if (!places.nics.empty()) findings.push_back(check_rate(places, expected));
    return findings;
  }
  return {check_locality(places), check_sharing(places), check_gdr(places), check_rate(places, expected)};
}

}  // namespace octet
