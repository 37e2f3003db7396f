#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "src/base/options/text.h"
#include "src/topology/topology_lint.h"

namespace octet {
namespace {

Finding check_count(const char* check, const char* what, std::int64_t seen, std::int64_t wanted,
                    const ClusterProfile* expected) {
  const std::string text = seen == 0 ? fmt::format("no {}", what) : fmt::format("{} {}s", seen, what);
  if (expected == nullptr) return seen == 0 ? Finding{check, FindingState::absent, text, "", ""} : good(check, text);
  if (seen >= wanted) return good(check, text);
  return {check, FindingState::bad, text, fmt::format("{} ({})", wanted, expected->name),
          "the file is of another machine or was written while devices were missing; look with lspci"};
}

/// Their number, and whether those are among them that the profile names; a provider's file may have no names.
Finding check_cards(const Places& places, const ClusterProfile* expected) {
  std::int64_t ports = 0;
  std::set<std::string> names;
  for (const DevicePlace& nic : places.nics) {
    ports += std::max<std::int64_t>(1, static_cast<std::int64_t>(nic.nets->size()));
    for (const Net& net : *nic.nets) names.insert(net.name);
  }
  names.erase("");
  Finding count =
      check_count("topology.cards", "network port", ports, expected == nullptr ? 0 : expected->nics.per_node, expected);
  if (expected == nullptr || count.state != FindingState::ok || names.empty()) return count;
  std::vector<std::string> lost;
  for (const std::string& name : expected->nics.hca) {
    if (!names.contains(name)) lost.push_back(name);
  }
  if (lost.empty()) return count;
  return {"topology.cards", FindingState::bad, fmt::format("{}, without {}", count.seen, joined(lost)),
          fmt::format("{} ({})", joined(expected->nics.hca), expected->name),
          "the file is of another machine, or nics.hca is: NCCL uses the cards of nics.hca alone"};
}

/// Every value that is there more than once, with its owners: "0000:18:00.0 (lines 4 and 9)".
std::vector<std::string> repeated(const std::vector<std::pair<std::string, std::string>>& values) {
  std::map<std::string, std::vector<std::string>> owners;
  for (const auto& [value, owner] : values) owners[value].push_back(owner);
  std::vector<std::string> out;
  for (const auto& [value, names] : owners) {
    if (names.size() > 1) out.push_back(fmt::format("{} ({})", value, joined(names, ", ")));
  }
  return out;
}

Finding check_unique(const NodeTopology& topology, const Places& places) {
  std::vector<std::pair<std::string, std::string>> values;
  const auto device = [&](const DevicePlace& p) {
    if (p.device() != nullptr)
      values.emplace_back("busid " + p.device()->busid, fmt::format("line {}", p.device()->line));
  };
  for (const auto* list : {&places.gpus, &places.nics, &places.bridges}) std::ranges::for_each(*list, device);
  for (const Cpu& cpu : topology.cpus)
    values.emplace_back(fmt::format("numaid {}", cpu.numa), fmt::format("line {}", cpu.line));
  for (const DevicePlace& gpu : places.gpus) {
    const auto& g = gpu.device()->gpu;
    if (g && g->dev) values.emplace_back(fmt::format("GPU dev {}", *g->dev), gpu.device()->busid);
  }
  for (const DevicePlace& nic : places.nics) {
    for (const Net& net : *nic.nets) {
      if (!net.name.empty()) values.emplace_back("net " + net.name, fmt::format("line {}", net.line));
      if (net.dev) values.emplace_back(fmt::format("net dev {}", *net.dev), net.name);
    }
  }
  const std::vector<std::string> twice = repeated(values);
  if (twice.empty()) return good("topology.unique", "bus ids, names and numbers");
  return {"topology.unique", FindingState::bad, some_of(twice, "; "), "each once",
          "NCCL takes the first for both: write the file anew on the machine that it is for"};
}

/// Ports of one card share a guid; with equal port numbers they are functions of one card, which NCCL may merge.
Finding check_guids(const Places& places) {
  std::vector<std::pair<std::string, std::string>> values;
  for (const DevicePlace& nic : places.nics) {
    for (const Net& net : *nic.nets) {
      if (!net.guid.empty()) values.emplace_back(fmt::format("{} port {}", net.guid, net.port.value_or(0)), net.name);
    }
  }
  const std::vector<std::string> twice = repeated(values);
  if (twice.empty())
    return values.empty() ? Finding{"topology.guids", FindingState::absent, "not in this file", "", ""}
                          : good("topology.guids", "one a port");
  return {"topology.guids", FindingState::warning, some_of(twice, "; "), "one a port",
          "virtual functions of one card, or a card twice: NCCL_IB_MERGE_VFS=0 and NCCL_IB_MERGE_NICS=0 keep NCCL from "
          "merging them (NVIDIA/nccl issues 1303 and 1422); if they are different cards, their firmware has one guid"};
}

/// Nothing where each GPU is one.
Findings check_parts(const Places& places) {
  std::vector<std::string> parted;
  for (const DevicePlace& gpu : places.gpus) {
    const int further = gpu.device()->further_gpus;
    if (further > 0) parted.push_back(fmt::format("{}: {} <gpu>", gpu.device()->busid, further + 1));
  }
  if (parted.empty()) return {};
  return {{"topology.parts", FindingState::warning, some_of(parted), "one <gpu> a device",
           "NCCL counts each part of a GPU (MPS with MLOPart) and each rank that shares it; here, and in what --xml "
           "writes, the first stands for the device"}};
}

Finding check_keep(const Places& places) {
  std::vector<std::string> odd;
  for (const auto* list : {&places.gpus, &places.nics, &places.bridges}) {
    for (const DevicePlace& p : *list) {
      const bool known = p.device() == nullptr || p.device()->keep.empty() || p.device()->keep == "1";
      if (!known) odd.push_back(fmt::format("{} keep={}", p.name(), in_quotes(p.device()->keep)));
    }
  }
  if (odd.empty()) return good("topology.keep", "nothing but 1");
  return {"topology.keep", FindingState::warning, some_of(odd), "1, or no such attribute",
          "NCCL drops what has another value and no GPU or card in use below it"};
}

std::string cpu_problem(const Cpu& cpu, bool hopper) {
  const auto is_one_of = [](const std::string& value, const std::set<std::string>& known) {
    return value.empty() || known.contains(value);  // NCCL asks the machine for what is not there
  };
  if (!is_one_of(cpu.arch, {"x86_64", "arm64", "ppc64"})) return fmt::format("arch {}", in_quotes(cpu.arch));
  if (cpu.arch != "x86_64") return "";
  if (!is_one_of(cpu.vendor, {"GenuineIntel", "AuthenticAMD", "CentaurHauls", "  Shanghai  "})) {
    return fmt::format("vendor {}", in_quotes(cpu.vendor));
  }
  if (cpu.vendor == "GenuineIntel" && (!cpu.family || !cpu.model)) return "no familyid or modelid";
  if (cpu.vendor == "GenuineIntel" && hopper && cpu_link_gbs(cpu) < 22) {
    return fmt::format("familyid {} modelid {}, which is older than any host of such GPUs", *cpu.family, *cpu.model);
  }
  return "";
}

Finding check_cpus(const NodeTopology& topology, const Places& places) {
  const bool hopper =
      std::ranges::any_of(places.gpus, [](const DevicePlace& g) { return compute_capability(*g.device()) >= 90; });
  std::vector<std::string> odd;
  for (const Cpu& cpu : topology.cpus) {
    const std::string problem = cpu_problem(cpu, hopper);
    if (!problem.empty()) odd.push_back(fmt::format("NUMA node {}: {}", cpu.numa, problem));
  }
  if (odd.empty()) return good("topology.cpus", fmt::format("{} NUMA nodes", topology.cpus.size()));
  return {"topology.cpus", FindingState::warning, joined(odd, "; "), "what NCCL knows",
          "NCCL guesses the speed between CPUs and the latency of the network by it"};
}

Finding check_numa(const NodeTopology& topology, const Places& places) {
  std::map<std::int64_t, std::pair<int, int>> counts;  // GPUs and cards by NUMA node; those without either stay out
  for (const DevicePlace& gpu : places.gpus) ++counts[gpu.cpu->numa].first;
  for (const DevicePlace& nic : places.nics) ++counts[nic.cpu->numa].second;
  std::vector<std::string> texts;
  std::set<std::pair<int, int>> kinds;
  for (const auto& [numa, n] : counts) {
    texts.push_back(fmt::format("node {}: {} GPUs, {} cards", numa, n.first, n.second));
    kinds.insert(n);
  }
  const char* check = "topology.numa";
  if (texts.empty())
    return {check, FindingState::absent, fmt::format("{} NUMA nodes without devices", topology.cpus.size()), "", ""};
  if (counts.contains(-1)) {
    return {check, FindingState::warning, joined(texts, "; "), "the NUMA node of each device",
            "the firmware does not say (numa_node is -1): ranks cannot be bound near their GPU"};
  }
  if (counts.size() == 1 && topology.cpus.size() > 1 && places.gpus.size() > 1) kinds.insert({0, 0});
  if (kinds.size() == 1) return good(check, joined(texts, "; "));
  return {check, FindingState::warning, joined(texts, "; "), "as many GPUs and cards on each",
          "memory and cores of one node serve more GPUs than those of the other; is the file of this machine?"};
}

}  // namespace

Findings lint_node(const NodeTopology& topology, const Places& places, const ClusterProfile* expected) {
  Findings findings;
  findings.push_back(check_count("topology.gpus", "GPU", static_cast<std::int64_t>(places.gpus.size()),
                                 expected == nullptr ? 0 : expected->gpus.per_node, expected));
  findings.push_back(check_cards(places, expected));
  findings.push_back(check_numa(topology, places));
  findings.push_back(check_cpus(topology, places));
  findings.push_back(check_unique(topology, places));
  findings.push_back(check_guids(places));
  findings.push_back(check_keep(places));
  const Findings parts = check_parts(places);
  findings.insert(findings.end(), parts.begin(), parts.end());
  return findings;
}

}  // namespace octet
