#include "src/cluster/environment/device_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "src/base/options/text.h"
#include "src/cluster/doctor/lines.h"

namespace octet {
namespace {

struct DeviceList {
  bool exact = false, excluded = false;
  std::vector<std::string> names;
};

DeviceList parse_devices(std::string text) {
  DeviceList out;
  out.excluded = text.starts_with('^');
  if (out.excluded) text.erase(0, 1);
  out.exact = text.starts_with('=');
  if (out.exact) text.erase(0, 1);
  for (const std::string& part : split(text, ',')) out.names.push_back(part.substr(0, part.find(':')));
  return out;
}

bool ends_in_digit(const std::string& name) {
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.back())) != 0;
}

/// Whether the list lets NCCL use the device.
bool takes(const DeviceList& list, const std::string& device) {
  const bool listed = std::ranges::any_of(
      list.names, [&](const std::string& name) { return list.exact ? device == name : device.starts_with(name); });
  return listed != list.excluded;
}

}  // namespace

std::string device_list_problem(const std::string& text, const std::vector<std::string>& wanted) {
  const DeviceList list = parse_devices(text);
  if (list.names.size() > 32) return fmt::format("has {} devices; NCCL uses 32 at most", list.names.size());
  std::vector<std::string> problems, lost, others;
  for (const std::string& device : wanted) {
    if (!takes(list, device)) lost.push_back(device);
  }
  if (!lost.empty()) problems.push_back(fmt::format("leaves out {}, which the profile has", joined(lost)));
  for (const std::string& name : list.names) {
    const bool other = list.exact && !list.excluded && std::ranges::count(wanted, name) == 0;
    if (other && !wanted.empty()) others.push_back(name);
  }
  if (!others.empty()) problems.push_back(fmt::format("has {}, which the profile has not", joined(others)));
  const auto numbered = std::ranges::find_if(list.names, ends_in_digit);
  if (!list.exact && numbered != list.names.end()) {
    problems.push_back(fmt::format("names match as prefixes: {0} also {1} {0}0 to {0}9", *numbered,
                                   list.excluded ? "leaves out" : "takes"));
  }
  return joined(problems, "; ");
}

}  // namespace octet
