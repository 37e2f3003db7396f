#include "src/cluster/environment/local_devices.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/options/text.h"
#include "src/cluster/environment/value_check.h"

namespace octet {
namespace {

/// "this machine has eth0, lo".
std::string stock(std::string_view what, const std::vector<std::string>& names) {
  return names.empty() ? fmt::format("this machine has no {}", what)
                       : fmt::format("this machine has {}", joined(names));
}

bool matches_one(const DeviceList& list, const std::string& name, const std::vector<std::string>& present) {
  return std::ranges::any_of(present,
                             [&](const std::string& p) { return list.exact ? p == name : p.starts_with(name); });
}

Finding nccl_finding(const Variable& v, const std::string& value, std::string_view what,
                     const std::vector<std::string>& present) {
  const DeviceList list = parse_devices(value);
  if (v.kind == ValueKind::devices && present.empty()) {
    // A machine from which jobs are submitted need not have any, and where the nodes should, hca.count says so.
    return {
        v.name, FindingState::absent, "", "",
        fmt::format("{}; whether the nodes have these devices can only be checked on a node", stock(what, present))};
  }
  if (std::ranges::none_of(present, [&](const std::string& name) { return takes(list, name); })) {
    return {v.name, FindingState::bad, "", "", fmt::format("leaves NCCL without one: {}", stock(what, present))};
  }
  std::vector<std::string> missing;
  for (const std::string& name : list.names) {
    if (!matches_one(list, name, present)) missing.push_back(name);
  }
  if (missing.empty() || list.excluded) return {v.name, FindingState::ok, "", "", ""};
  return {v.name, FindingState::warning, "", "",
          fmt::format("no {} of that name: {}; {}", what, joined(missing), stock(what, present))};
}

Finding ucx_finding(const Variable& v, const std::string& value, const LocalDevices& devices) {
  std::vector<std::string> present = devices.interfaces, missing;
  present.insert(present.end(), devices.hcas.begin(), devices.hcas.end());
  const std::vector<std::string> names = parse_devices(value).names;
  for (const std::string& name : names) {
    const bool known = name == "all" || name.find('*') != std::string::npos;
    if (!known && std::ranges::find(present, name) == present.end()) missing.push_back(name);
  }
  if (missing.empty()) return {v.name, FindingState::ok, "", "", ""};
  return {v.name, missing.size() == names.size() ? FindingState::bad : FindingState::warning, "", "",
          fmt::format("no device of that name: {}; {}", joined(missing), stock("network devices", present))};
}

}  // namespace

LocalDevices local_devices(const Machine& machine) {
  return {machine.list("/sys/class/net"), machine.list("/sys/class/infiniband")};
}

Finding device_finding(const Variable& v, const std::string& value, const LocalDevices& devices) {
  switch (v.kind) {
    case ValueKind::interfaces:
      return nccl_finding(v, value, "interface", devices.interfaces);
    case ValueKind::devices:
      return nccl_finding(v, value, "verbs device", devices.hcas);
    case ValueKind::ucx_devices:
      return ucx_finding(v, value, devices);
    default:
      return {v.name, FindingState::ok, "", "", ""};
  }
}

}  // namespace octet
