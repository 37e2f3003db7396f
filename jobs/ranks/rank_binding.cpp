#include "jobs/ranks/rank_binding.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "jobs/ranks/cpu_setup.h"
#include "src/cluster/cores/core_map.h"
#include "src/cluster/cores/core_plan.h"
#include "src/comm/control_exchange.h"

namespace octet {
namespace {

/// Whether this is the value that tells OpenMP to bind no thread.
bool is_false(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text == "false";
}

/// Why this rank is to stay where it is; empty where it is not.
std::string why_unbound(const CpuConfig& config, DeviceType device) {
  if (config.bind == CoreBinding::off) return "cpu.bind = off";
  for (const char* name : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && !is_false(value)) return fmt::format("{} is set", name);
  }
  const bool of_a_job = std::getenv("SLURM_JOB_ID") != nullptr;
  return device == DeviceType::cpu && !of_a_job ? "the machine is not a job's alone" : "";
}

/// The places of this node's ranks, in their order.
std::vector<RankPlace> places_here(const RankPlace& mine, const std::string& node, Communicator& control) {
  const nlohmann::json message = {{"node", node}, {"allowed", mine.allowed}, {"near", mine.near}};
  std::vector<RankPlace> out;
  for (const std::string& text : gather_bytes(message.dump(), control)) {
    const auto place = nlohmann::json::parse(text);
    if (place["node"] != node) continue;
    out.push_back({.allowed = place["allowed"].get<CpuList>(), .near = place["near"].get<CpuList>()});
  }
  return out;
}

std::string describe(const RankCores& mine, bool has_gpu, bool place_known) {
  std::string text =
      fmt::format("CPUs {} ({} core{}", cpu_list_text(mine.cpus), mine.cores, mine.cores == 1 ? "" : "s");
  if (has_gpu && place_known) text += mine.is_near ? " near its GPU" : ", not near its GPU, where the job has too few";
  if (has_gpu && !place_known) text += "; the system does not say which are near its GPU";
  if (mine.sharing > 1) text += fmt::format("; {} ranks share them", mine.sharing);
  return text + ")";
}

}  // namespace

Binding bind_rank(const CpuConfig& config, DeviceType device, const NcclSettings& nccl, const MpiRuntime& mpi,
                  Communicator& control) {
  const bool has_gpu = device == DeviceType::cuda;
  const std::string gpu = has_gpu ? cuda_bus_id(mpi.local_rank() / static_cast<int>(nccl.ranks_per_gpu)) : "";
  const CoreMap map;
  const RankPlace mine = {.allowed = map.allowed(), .near = cpus_near(Machine(), gpu)};
  const auto plan = plan_cores(map.cores(), places_here(mine, mpi.node(), control));
  const RankCores& cores = plan[static_cast<std::size_t>(mpi.local_rank())];

  Binding out{.ranks_on_same_cores = cores.sharing};
  std::string why_not = why_unbound(config, device);
  if (why_not.empty()) why_not = map.bind(cores.cpus);
  std::string text = describe(cores, has_gpu, !mine.near.empty());
  if (!why_not.empty()) {
    text = fmt::format("CPUs {}, not bound: {}", cpu_list_text(mine.allowed), why_not);
    out.ranks_on_same_cores = mpi.ranks_on_same_cores();
  }
  out.line = fmt::format("rank {} on {}{}{}: {}", mpi.rank(), mpi.node(), gpu.empty() ? "" : ", GPU ", gpu, text);
  for (const std::string& line : gather_bytes(out.line, control)) out.table += line + "\n";
  out.cpu = set_up_cpu(config, out.ranks_on_same_cores);
  return out;
}

}  // namespace octet
