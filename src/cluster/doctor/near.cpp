#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "src/base/options/text.h"
#include "src/cluster/cores/cpu_list.h"
#include "src/cluster/doctor/doctor_checks.h"
#include "src/cluster/machine/text_lines.h"

namespace octet {
namespace {

constexpr const char* of_gpu = "the kernel does not say which NUMA node a GPU is of";

/// What belongs to one NUMA node.
struct NumaPlace {
  int gpus = 0, cards = 0;
  std::size_t cpus = 0;  ///< that this process may run on
};

/// By the node's number; -1: the kernel does not say.
using NumaPlaces = std::map<long long, NumaPlace>;

bool is_gpu(const Machine& machine, const std::string& folder) {
  const std::string kind = machine.read(folder + "/class").value_or("");
  return machine.read(folder + "/vendor") == "0x10de" && (kind.starts_with("0x0300") || kind.starts_with("0x0302"));
}

void count_gpus(const Machine& machine, NumaPlaces& places) {
  const std::string bus = "/sys/bus/pci/devices";
  for (const std::string& address : machine.list(bus)) {
    const std::string folder = fmt::format("{}/{}", bus, address);
    if (is_gpu(machine, folder)) ++places[machine.read_number(folder + "/numa_node").value_or(-1)].gpus;
  }
}

/// Counts the network cards that training uses: those that the profile names, or else all.
void count_cards(const Examination& e, NumaPlaces& places) {
  const std::string cards = "/sys/class/infiniband";
  const bool all = !e.expects_verbs() || e.profile->nics.hca.empty();
  for (const std::string& name : e.machine.list(cards)) {
    if (!all && std::ranges::count(e.profile->nics.hca, name) == 0) continue;
    ++places[e.machine.read_number(fmt::format("{}/{}/device/numa_node", cards, name)).value_or(-1)].cards;
  }
}

void count_cpus(const Machine& machine, NumaPlaces& places) {
  const std::string status = machine.read("/proc/self/status").value_or("");
  const CpuList mine = parse_cpu_list(value_after(status, "Cpus_allowed_list")).value_or(CpuList());
  for (auto& [node, place] : places) {
    const auto there = machine.read(fmt::format("/sys/devices/system/node/node{}/cpulist", node));
    place.cpus = common(mine, parse_cpu_list(there.value_or("")).value_or(CpuList())).size();
  }
}

/// "NUMA node 0: 4 GPUs, 112 CPUs; NUMA node 1: 4 GPUs, 0 CPUs", of the nodes with GPUs.
template <typename Member>
std::string counts(const NumaPlaces& places, Member member, const char* what) {
  std::vector<std::string> out;
  for (const auto& [node, place] : places) {
    if (place.gpus > 0)
      out.push_back(fmt::format("NUMA node {}: {} GPUs, {} {}", node, place.gpus, place.*member, what));
  }
  return joined(out, "; ");
}

template <typename Member>
bool some_lack(const NumaPlaces& places, Member member) {
  return std::ranges::any_of(places, [&](const auto& p) { return p.second.gpus > 0 && p.second.*member == 0; });
}

Finding compare_cores(const NumaPlaces& places) {
  const char* check = "cpu.near_devices";
  const std::string seen = counts(places, &NumaPlace::cpus, "CPUs of this process");
  if (!some_lack(places, &NumaPlace::cpus)) return good(check, seen);
  return {
      check, FindingState::warning, seen, "CPUs near every GPU",
      "ranks of these GPUs run on another socket: ask for whole nodes (slurm.exclusive), or for cores of each socket"};
}

Finding compare_cards(const NumaPlaces& places) {
  const char* check = "hca.near_gpus";
  int cards = 0;
  for (const auto& [node, place] : places) cards += place.cards;
  if (cards == 0) return missing(check, false, "no device in /sys/class/infiniband", "", "");
  if (places.contains(-1)) return missing(check, false, "the kernel does not say which NUMA node a card is of", "", "");
  const std::string seen = counts(places, &NumaPlace::cards, "cards");
  if (!some_lack(places, &NumaPlace::cards)) return good(check, seen);
  return {check, FindingState::warning, seen, "cards near every GPU",
          "traffic of these GPUs crosses the link between sockets: is a card missing (hca.count), in another slot, or "
          "not among nics.hca?"};
}

}  // namespace

/// Whether this process has CPUs, and the node cards, on every NUMA node that has GPUs.
Findings node_checks::check_near(const Examination& e) {
  NumaPlaces places;
  count_gpus(e.machine, places);
  const char* why = places.empty() ? "no NVIDIA GPU on the bus" : places.contains(-1) ? of_gpu : nullptr;
  if (why != nullptr)
    return {missing("cpu.near_devices", false, why, "", ""), missing("hca.near_gpus", false, why, "", "")};
  int gpus = 0;
  for (const auto& [node, place] : places) gpus += place.gpus;
  if (e.profile != nullptr && e.profile->gpus.per_node < gpus) {  // a part of the node, and nobody says which
    const std::string part = fmt::format("the job has {} of the node's {} GPUs", e.profile->gpus.per_node, gpus);
    return {missing("cpu.near_devices", false, part, "", ""), missing("hca.near_gpus", false, part, "", "")};
  }
  count_cards(e, places);
  const Finding cards = compare_cards(places);
  count_cpus(e.machine, places);
  return {compare_cores(places), cards};
}

}  // namespace octet
