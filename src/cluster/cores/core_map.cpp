#include "src/cluster/cores/core_map.h"

#include <hwloc.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "src/base/error.h"

namespace octet {
namespace {

struct FreeBitmap {
  void operator()(hwloc_bitmap_t bitmap) const noexcept { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

CpuList cpus_of(hwloc_const_bitmap_t set) {
  CpuList cpus;
  for (int cpu = hwloc_bitmap_first(set); cpu >= 0; cpu = hwloc_bitmap_next(set, cpu)) cpus.push_back(cpu);
  return cpus;
}

hwloc_topology_t loaded(const char* synthetic) {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) throw internal_error("cluster", "hwloc does not start");
  const bool described = synthetic == nullptr || hwloc_topology_set_synthetic(topology, synthetic) == 0;
  // With the CPUs that this process may not use: so the cores of other ranks are known, and known not to be ours.
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (described && hwloc_topology_load(topology) == 0) return topology;
  const int error = errno;
  hwloc_topology_destroy(topology);
  for (const char* name : {"HWLOC_XMLFILE", "HWLOC_SYNTHETIC", "HWLOC_FSROOT"}) {
    const char* const value = std::getenv(name);
    if (synthetic != nullptr || value == nullptr || *value == '\0') continue;
    throw usage_error("cluster", "{} = {}: hwloc finds no machine there: {}; expected one, or no such variable", name,
                      value, std::strerror(error));
  }
  throw internal_error("cluster", "hwloc finds no machine{}{}: {}", synthetic == nullptr ? "" : " in ",
                       synthetic == nullptr ? "" : synthetic, std::strerror(error));
}

std::vector<hwloc_obj_t> objects(hwloc_topology_t topology, hwloc_obj_type_t type) {
  std::vector<hwloc_obj_t> out;
  for (hwloc_obj_t o = nullptr; (o = hwloc_get_next_obj_by_type(topology, type, o)) != nullptr;) out.push_back(o);
  return out;
}

}  // namespace

CoreMap::CoreMap() : topology_(loaded(nullptr)) {}

CoreMap CoreMap::synthetic(const std::string& description) {
  return CoreMap(loaded(description.c_str()));
}

CoreMap::CoreMap(CoreMap&& other) noexcept : topology_(std::exchange(other.topology_, nullptr)) {}

CoreMap::~CoreMap() {
  if (topology_ != nullptr) hwloc_topology_destroy(topology_);
}

std::vector<CpuList> CoreMap::cores() const {
  auto all = objects(topology_, HWLOC_OBJ_CORE);
  if (all.empty()) all = objects(topology_, HWLOC_OBJ_PU);  // some virtual machines do not say what a core is
  std::vector<CpuList> out;
  out.reserve(all.size());
  for (const hwloc_obj_t core : all) out.push_back(cpus_of(core->cpuset));
  return out;
}

std::vector<CpuList> CoreMap::numa_nodes() const {
  std::vector<CpuList> out;
  for (const hwloc_obj_t node : objects(topology_, HWLOC_OBJ_NUMANODE)) {
    out.resize(std::max<std::size_t>(out.size(), node->os_index + 1));
    out[node->os_index] = cpus_of(node->cpuset);
  }
  return out;
}

CpuList CoreMap::allowed() const {
  const Bitmap set(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(topology_, set.get(), HWLOC_CPUBIND_PROCESS) == 0) return cpus_of(set.get());
  return cpus_of(hwloc_topology_get_allowed_cpuset(topology_));
}

std::string CoreMap::bind(const CpuList& cpus) const {
  if (hwloc_topology_is_thissystem(topology_) == 0) {  // hwloc would say that it has bound, and do nothing
    return "hwloc is told of another machine (HWLOC_XMLFILE, HWLOC_SYNTHETIC, HWLOC_THISSYSTEM)";
  }
  const Bitmap set(hwloc_bitmap_alloc());
  for (const int cpu : cpus) hwloc_bitmap_set(set.get(), static_cast<unsigned>(cpu));
  if (hwloc_set_cpubind(topology_, set.get(), HWLOC_CPUBIND_PROCESS) == 0) return "";
  return std::strerror(errno);
}

CpuList cpus_near(const Machine& machine, const std::string& pci_address) {
  std::string address = pci_address;
  std::ranges::transform(address, address.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::string folder = "/sys/bus/pci/devices/" + address;
  if (machine.read_number(folder + "/numa_node").value_or(-1) < 0) return {};
  return parse_cpu_list(machine.read(folder + "/local_cpulist").value_or("")).value_or(CpuList());
}

}  // namespace octet
