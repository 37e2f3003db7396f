#include <fmt/format.h>

#include "src/base/options/text.h"
#include "src/cluster/doctor/doctor_checks.h"
#include "src/cluster/machine/text_lines.h"

namespace octet {
namespace {

constexpr const char* check = "net.frontend";

std::string folder_of(const std::string& interface) {
  return "/sys/class/net/" + interface;
}

/// "up", "down", ...; some drivers, and lo, never say more than "unknown". Empty: there is no such interface.
std::string state_of(const Machine& machine, const std::string& interface) {
  return machine.read(folder_of(interface) + "/operstate").value_or("");
}

bool is_up(const std::string& state) {
  return state == "up" || state == "unknown";
}

/// Beside them /sys/class/net may have files, such as bonding_masters.
std::vector<std::string> interfaces_of(const Machine& machine) {
  std::vector<std::string> names = machine.list("/sys/class/net");
  std::erase_if(names, [&](const std::string& name) { return state_of(machine, name).empty(); });
  return names;
}

/// Whether the job's variables send NCCL or MPI to nics.frontend; the profile's environment.variables may name another
/// interface.
bool is_used(const Examination& e) {
  const std::string& frontend = e.profile->nics.frontend;
  return e.job_value("NCCL_SOCKET_IFNAME") == "=" + frontend || e.job_value("UCX_NET_DEVICES") == frontend;
}

/// Whether MPI chooses among the interfaces by which nodes could reach each other.
bool is_left_to_mpi(const Examination& e) {
  const ClusterProfile& p = *e.profile;
  return p.nics.frontend.empty() && p.fabric != Fabric::none && p.environment.generate &&
         !e.job_value("UCX_NET_DEVICES");
}

/// The interfaces that the profile names, of which NCCL and MPI take those that there are.
Finding check_named(const Examination& e, const std::vector<std::string>& present) {
  std::vector<std::string> names = split(e.profile->nics.frontend, ','), unusable;
  std::erase(names, "");
  for (const std::string& name : names) {
    const std::string state = state_of(e.machine, name);
    if (is_up(state)) continue;
    unusable.push_back(state.empty() ? fmt::format("no {}", name) : fmt::format("{} is {}", name, state));
  }
  if (unusable.empty()) return good(check, joined(names));
  return {check, unusable.size() == names.size() ? FindingState::bad : FindingState::warning,
          fmt::format("{}; this node has {}", joined(unusable), joined(present)),
          fmt::format("{} up, as {} says (nics.frontend)", joined(names), e.profile->name),
          "name the node's interface of the ordinary network in nics.frontend (ip link): without one NCCL or MPI does "
          "not start"};
}

/// MPI takes every interface that is up, and a bridge of containers has the same address on each node.
Finding check_bridges(const Examination& e, const std::vector<std::string>& present) {
  std::vector<std::string> bridges;
  for (const std::string& name : present) {
    const bool is_bridge = !e.machine.list(folder_of(name) + "/bridge").empty();
    if (is_bridge && is_up(state_of(e.machine, name))) bridges.push_back(name);
  }
  if (bridges.empty()) return good(check, "not named, and no bridge is up");
  return {check, FindingState::warning, fmt::format("bridges are up: {}", joined(bridges)),
          "the interface of the ordinary network in nics.frontend",
          "name it there (ip link): MPI may look for other nodes over a bridge, which reaches none"};
}

}  // namespace

/// Whether the interfaces of nics.frontend are there and up; where the profile names none, whether a bridge is up, over
/// which MPI could look for other nodes.
Findings node_checks::check_frontend(const Examination& e) {
  if (e.profile == nullptr || (!is_used(e) && !is_left_to_mpi(e))) return {};
  const std::vector<std::string> present = interfaces_of(e.machine);
  if (present.empty()) return {missing(check, false, "no interface in /sys/class/net", "", "")};
  return {is_left_to_mpi(e) ? check_bridges(e, present) : check_named(e, present)};
}

}  // namespace octet
