#include "src/topology/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace octet {
namespace {

void collect(const Cpu& cpu, const PciDevice& device, std::vector<const PciDevice*>& chain, Places& places) {
  chain.push_back(&device);
  std::vector<DevicePlace>& list = device.is_gpu() ? places.gpus : device.is_nic() ? places.nics : places.bridges;
  list.push_back({.cpu = &cpu, .chain = chain, .nets = &device.nets});
  for (const PciDevice& child : device.children) collect(cpu, child, chain, places);
  chain.pop_back();
}

std::size_t common_levels(const DevicePlace& a, const DevicePlace& b) {
  const std::size_t most = std::min(a.chain.size(), b.chain.size());
  std::size_t n = 0;
  while (n < most && a.chain[n] == b.chain[n]) ++n;
  return n;
}

}  // namespace

std::string DevicePlace::name() const {
  std::string what = "card";
  if (nets != nullptr && !nets->empty()) {
    what = nets->front().name.empty() ? "card" : nets->front().name;
    if (nets->size() > 1) what += fmt::format(" and {} more ports", nets->size() - 1);
  } else if (device() != nullptr && device()->is_gpu()) {
    const bool numbered = device()->gpu && device()->gpu->dev;
    what = numbered ? fmt::format("GPU {}", *device()->gpu->dev) : "GPU";
  } else if (device() != nullptr && device()->is_bridge()) {
    what = "bridge";
  }
  return device() == nullptr ? what : fmt::format("{} ({})", what, device()->busid);
}

Places::Places(const NodeTopology& topology) {
  for (const Cpu& cpu : topology.cpus) {
    std::vector<const PciDevice*> chain;
    for (const PciDevice& device : cpu.devices) collect(cpu, device, chain, *this);
    if (!cpu.nets.empty()) nics.push_back({.cpu = &cpu, .chain = {}, .nets = &cpu.nets});
  }
}

PathType path_type(const DevicePlace& a, const DevicePlace& b) {
  if (a.cpu != b.cpu) return PathType::sys;
  const std::size_t shared = common_levels(a, b);
  if (shared == 0) return PathType::phb;
  const std::size_t left = std::max(a.chain.size(), b.chain.size()) - shared;
  if (left == 0) return PathType::same;
  return left == 1 ? PathType::pix : PathType::pxb;
}

std::optional<double> lane_rate(const std::string& link_speed) {
  // NCCL 2.28.9-1, src/graph/topo.cc, kvDictPciGen: the text begins with one of these.
  constexpr std::pair<std::string_view, double> known[] = {
      {"2.5 GT/s", 15},        {"5 GT/s", 30},         {"8 GT/s", 60},        {"16 GT/s", 120},
      {"32 GT/s", 240},        {"5.0 GT/s PCIe", 30},  {"8.0 GT/s PCIe", 60}, {"16.0 GT/s PCIe", 120},
      {"32.0 GT/s PCIe", 240}, {"64.0 GT/s PCIe", 480}};
  for (const auto& [text, rate] : known) {
    if (link_speed.starts_with(text)) return rate;
  }
  return std::nullopt;
}

double link_gbs(const PciDevice& device) {
  const std::int64_t width = device.link_width.value_or(0);
  return static_cast<double>(width == 0 ? 16 : width) * lane_rate(device.link_speed).value_or(60) / 80;
}

double cpu_link_gbs(const Cpu& cpu) {
  if (cpu.arch == "ppc64") return 32;
  if (cpu.arch == "arm64") return 6;
  if (cpu.vendor == "AuthenticAMD") return 16;
  if (cpu.vendor != "GenuineIntel") return 5000;
  const std::int64_t model = cpu.family == 6 ? cpu.model.value_or(0) : 0;
  return model >= 0xCF ? 40 : model >= 0x8F ? 22 : model >= 0x55 ? 10 : 6;  // Emerald Rapids, Sapphire Rapids, Skylake
}

std::optional<std::int64_t> nvlink_count(const PciDevice& gpu) {
  if (!gpu.gpu || !gpu.gpu->nvlinks) return std::nullopt;
  const auto& links = *gpu.gpu->nvlinks;
  return std::accumulate(links.begin(), links.end(), std::int64_t{0},
                         [](std::int64_t sum, const NvLinks& l) { return sum + l.count; });
}

std::int64_t compute_capability(const PciDevice& gpu) {
  if (gpu.gpu && gpu.gpu->sm) return *gpu.gpu->sm;
  if (gpu.vendor != "0x10de") return 0;
  return gpu.device.starts_with("0x23") ? 90 : gpu.device.starts_with("0x20") ? 80 : 0;  // GH100 and GA100 chips
}

double nvlink_gbs(std::int64_t sm) {
  return sm >= 100 ? 40.1 : sm >= 90 ? 20.6 : sm == 86 ? 12.0 : sm >= 70 ? 20.0 : 18.0;
}

}  // namespace octet
