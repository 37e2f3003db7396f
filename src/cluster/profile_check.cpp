#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "src/base/options/text.h"
#include "src/cluster/container.h"
#include "src/cluster/profile.h"
#include "src/cluster/slurm_job.h"
#include "src/cluster/slurm_options.h"

namespace octet {
namespace {

std::string place_of(const Origins& origins, const std::string& key) {
  const auto origin = origins.find(key);
  return fmt::format("{}: {}", origin == origins.end() ? "default" : origin->second, key);
}

template <typename V, typename... Args>
Error refuse(const Origins& origins, const std::string& key, const V& value, fmt::format_string<Args...> text,
             Args&&... args) {
  return usage_error("config", "{} = {}: {}", place_of(origins, key), value,
                     fmt::format(text, std::forward<Args>(args)...));
}

/// The message without the name of the room at its beginning: "text" of "[cluster] text".
std::string without_room(const std::string& message) {
  return message.substr(message.find("] ") + 2);
}

/// It stands in comments of the script.
void check_name(const ClusterProfile& p, const Origins&) {
  if (p.name.find_first_of("\n\r") == std::string::npos) return;
  throw usage_error("config", "{}: found a line break, expected the name of a profile's file in one line",
                    in_quotes(p.name));
}

void check_gpus(const ClusterProfile& p, const Origins& at) {
  if (p.gpus.per_node > 0 && p.gpus.memory_gib <= p.gpus.reserved_gib) {
    throw refuse(at, "gpus.memory_gib", p.gpus.memory_gib, "expected more than gpus.reserved_gib = {}",
                 p.gpus.reserved_gib);
  }
  const std::string& type = p.gpus.slurm_type;
  if (!std::ranges::all_of(type,
                           [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; })) {
    throw refuse(at, "gpus.slurm_type", in_quotes(type), "expected letters, digits and - _ . alone");
  }
  if (!type.empty() && (p.gpus.per_node == 0 || p.gpus.request == GpuRequest::none)) {
    throw refuse(at, "gpus.slurm_type", in_quotes(type),
                 "has no effect where no GPUs are asked for (gpus.per_node, gpus.request)");
  }
}

void check_ranks(const ClusterProfile& p, const Origins& at) {
  if (p.ranks_per_node() == 0) {
    throw refuse(at, "launcher.ranks_per_node", 0, "with gpus.per_node = 0, expected at least 1");
  }
  if (p.gpus.per_node > 0 && p.ranks_per_node() != p.gpus.per_node) {
    throw refuse(at, "launcher.ranks_per_node", p.ranks_per_node(), "expected 0 or gpus.per_node = {}: a rank a GPU",
                 p.gpus.per_node);
  }
  if (p.cpu.cores < p.ranks_per_node()) {
    throw refuse(at, "cpu.cores", p.cpu.cores, "expected at least one for each of {} ranks of a node",
                 p.ranks_per_node());
  }
}

void check_nics(const ClusterProfile& p, const Origins& at) {
  const bool has_fabric = p.fabric != Fabric::none && p.fabric != Fabric::ethernet;
  if (has_fabric != (p.nics.per_node > 0)) {
    throw refuse(at, "nics.per_node", p.nics.per_node, "expected {} with fabric = {}",
                 has_fabric ? "at least 1" : "0: those cards are of another fabric", name_of(p.fabric));
  }
  const bool verbs = p.fabric == Fabric::infiniband || p.fabric == Fabric::roce || p.fabric == Fabric::custom;
  if (!verbs && !p.nics.hca.empty()) {
    throw refuse(at, "nics.hca", joined(p.nics.hca), "has no effect with fabric = {}; expected no names",
                 name_of(p.fabric));
  }
  const auto cards = static_cast<std::int64_t>(p.nics.hca.size());
  if (cards > 0 && cards != p.nics.per_node) {
    throw refuse(at, "nics.hca", joined(p.nics.hca), "are {} devices, expected nics.per_node = {} of them, or none",
                 cards, p.nics.per_node);
  }
  if (!verbs && p.nics.traffic_class >= 0) {
    throw refuse(at, "nics.traffic_class", p.nics.traffic_class, "has no effect with fabric = {}; expected -1",
                 name_of(p.fabric));
  }
}

/// They go into NCCL_IB_HCA and NCCL_SOCKET_IFNAME behind a =, where more than a name is read as something else.
void check_device(const std::string& name, const char* key, const char* variable, const char* others,
                  const Origins& at) {
  const std::size_t odd = name.find_first_of(others);
  if (odd == std::string::npos && !name.empty()) return;
  throw refuse(at, key, in_quotes(name),
               "found {}, expected the name alone: no = or ^ before it, no port behind it; another selection is {} in "
               "environment.variables",
               name.empty() ? "nothing" : in_quotes(name.substr(odd, 1)), variable);
}

void check_devices(const ClusterProfile& p, const Origins& at) {
  std::set<std::string> names;
  for (const std::string& name : p.nics.hca) {
    check_device(name, "nics.hca", "NCCL_IB_HCA", "=^:, \t", at);
    if (!names.insert(name).second) throw refuse(at, "nics.hca", name, "is there twice, expected once");
  }
  if (!p.nics.frontend.empty()) {  // several with commas are several to NCCL and UCX, too
    check_device(p.nics.frontend, "nics.frontend", "NCCL_SOCKET_IFNAME", "=^: \t", at);
  }
}

void check_network(const ClusterProfile& p, const Origins& at) {
  const NetworkProfile& n = p.network;
  if (p.nics.per_node == 0 && (n.rails || n.leaf_nodes > 0 || n.pod_nodes > 0)) {
    const char* key = n.rails ? "network.rails" : n.leaf_nodes > 0 ? "network.leaf_nodes" : "network.pod_nodes";
    throw refuse(at, key,
                 n.rails            ? 1
                 : n.leaf_nodes > 0 ? n.leaf_nodes
                                    : n.pod_nodes,
                 "has no effect with nics.per_node = 0; expected no network");
  }
  if (n.rails && p.nics.per_node < 2) {
    throw refuse(at, "network.rails", "true", "with nics.per_node = {}; expected at least 2 cards", p.nics.per_node);
  }
  if (n.oversubscription > 1 && n.leaf_nodes == 0) {
    throw refuse(at, "network.oversubscription", n.oversubscription, "needs network.leaf_nodes; expected 1");
  }
  if (n.pod_oversubscription > 1 && n.pod_nodes == 0) {
    throw refuse(at, "network.pod_oversubscription", n.pod_oversubscription, "needs network.pod_nodes; expected 1");
  }
  if (n.pod_nodes > 0 && n.leaf_nodes > 0 && n.pod_nodes % n.leaf_nodes != 0) {
    throw refuse(at, "network.pod_nodes", n.pod_nodes, "expected a multiple of network.leaf_nodes = {}", n.leaf_nodes);
  }
}

void check_option(const std::string& text, const SlurmProfile& s, const Origins& at) {
  const char* key = "slurm.options";
  SlurmOption option;
  try {
    option = parse_slurm_option(text);
    sbatch_line(option);
  } catch (const Error& e) {
    throw refuse(at, key, in_quotes(text), "{}", without_room(e.what()));
  }
  const std::string problem = sbatch_option_problem(option, s.exclusive);
  if (!problem.empty()) throw refuse(at, key, in_quotes(text), "{} fights the job: {}", option.name, problem);
}

void check_slurm(const ClusterProfile& p, const Origins& at) {
  const SlurmProfile& s = p.slurm;
  parse_slurm_time(s.time, place_of(at, "slurm.time"));
  if (s.topology == TopologyKind::block && s.leaf_nodes == 0) {
    throw refuse(at, "slurm.leaf_nodes", 0, "expected the nodes of a block with slurm.topology = block");
  }
  if (s.topology == TopologyKind::none && s.leaf_nodes > 0) {
    throw refuse(at, "slurm.leaf_nodes", s.leaf_nodes, "has no effect with slurm.topology = none; expected 0");
  }
  if (s.switch_wait_minutes > 0 && (s.topology != TopologyKind::tree || s.leaf_nodes == 0)) {
    throw refuse(at, "slurm.switch_wait_minutes", s.switch_wait_minutes,
                 "has an effect with slurm.topology = tree and slurm.leaf_nodes alone; expected 0");
  }
  for (const std::string& text : s.options) check_option(text, s, at);
}

void check_srun(const ClusterProfile& p, const Origins& at) {
  const char* key = "launcher.srun_options";
  for (const std::string& text : p.launcher.srun_options) {
    SlurmOption option;
    try {
      option = parse_slurm_option(text);
    } catch (const Error& e) {
      throw refuse(at, key, in_quotes(text), "{}", without_room(e.what()));
    }
    const std::string problem = srun_option_problem(option);
    if (!problem.empty()) throw refuse(at, key, in_quotes(text), "{} fights the launch: {}", option.name, problem);
  }
}

void check_container(const ClusterProfile& p, const Origins& at) {
  const ContainerProfile& c = p.container;
  const bool others = !c.mounts.empty() || !c.workdir.empty() || !c.programs.empty() || !c.options.empty();
  if (c.image.empty() && others) {
    throw refuse(at, "container.image", in_quotes(""), "the other keys of container have no effect without it");
  }
  if (!c.image.empty() && !p.software.container.empty()) {
    throw refuse(at, "software.container", joined(p.software.container, " "),
                 "container.image says how programs start; expected one of the two");
  }
  if (c.image.starts_with('-') || c.image.find_first_of(" \n") != std::string::npos) {
    throw refuse(at, "container.image", in_quotes(c.image), "expected a path or a name without spaces");
  }
  for (const std::string& mount : c.mounts) {
    const std::string problem = mount_problem(mount);
    if (!problem.empty()) throw refuse(at, "container.mounts", in_quotes(mount), "{}", problem);
  }
  for (const auto& [key, path] :
       {std::pair("container.workdir", c.workdir), std::pair("container.programs", c.programs)}) {
    if (!path.empty() && !path.starts_with('/')) throw refuse(at, key, in_quotes(path), "expected an absolute path");
  }
  for (const std::string& option : c.options) {
    const std::string problem = container_option_problem(option, c.runtime);
    if (!problem.empty()) throw refuse(at, "container.options", in_quotes(option), "{}", problem);
  }
}

bool is_variable_name(const std::string& name) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 && std::ranges::all_of(name, fits);
}

bool has_line_break(const std::string* text) {
  return text->find('\n') != std::string::npos;
}

void check_software(const ClusterProfile& p, const Origins& at) {
  std::set<std::string> names;
  for (const EnvironmentValue& v : p.environment.variables) {
    const char* key = "environment.variables";
    if (!is_variable_name(v.name)) throw refuse(at, key, in_quotes(v.name), "expected the name of a variable");
    if (v.unset && !v.value.empty()) throw refuse(at, key, v.name, "has a value and is unset, expected one of them");
    if (v.reason.empty()) throw refuse(at, key, v.name, "its reason is empty, expected why it has that value");
    if (std::ranges::any_of(std::array{&v.value, &v.reason, &v.review}, has_line_break)) {
      throw refuse(at, key, v.name, "found a line break, expected value, reason and review in one line each");
    }
    if (!names.insert(v.name).second) throw refuse(at, key, v.name, "is there twice, expected once");
  }
  for (const FileSystem& f : p.file_systems) {
    if (!f.path.starts_with('/')) {
      throw refuse(at, "storage.file_systems", in_quotes(f.path), "expected an absolute path");
    }
  }
}

}  // namespace

void validate(const ClusterProfile& profile, const Origins& origins) {
  std::vector<std::string> problems;  // the first one of each part
  for (const auto check : {check_name, check_gpus, check_ranks, check_nics, check_devices, check_network, check_slurm,
                           check_srun, check_container, check_software}) {
    try {
      check(profile, origins);
    } catch (const Error& e) {
      problems.push_back(without_room(e.what()));
    }
  }
  if (problems.empty()) return;
  if (problems.size() == 1) throw usage_error("config", "{}", problems[0]);
  throw usage_error("config", "{} keys are refused:\n  {}", problems.size(), joined(problems, "\n  "));
}

}  // namespace octet
