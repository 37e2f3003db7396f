#include <fmt/format.h>

#include <charconv>
#include <map>

#include "src/base/options/text.h"
#include "src/base/xid.h"
#include "src/cluster/doctor/doctor_checks.h"
#include "src/cluster/machine/text_lines.h"

namespace octet {
namespace {

/// "[...] NVRM: Xid (PCI:0000:3b:00): 79, pid=..." is {0000:3b:00, 79}; a number of 0 for any other line.
std::pair<std::string, int> parse_xid(const std::string& line) {
  const std::size_t xid = line.find("NVRM: Xid (");
  const std::size_t close = line.find("): ", xid);
  if (xid == std::string::npos || close == std::string::npos) return {"", 0};
  std::string device = line.substr(xid + 11, close - xid - 11);
  if (device.starts_with("PCI:")) device.erase(0, 4);
  int number = 0;
  std::from_chars(line.data() + close + 3, line.data() + line.size(), number);
  return {device, number};
}

}  // namespace

/// Actions are as NVIDIA's Xid catalog has them (docs.nvidia.com/deploy/xid-errors).
Findings node_checks::check_xids(const Examination& e) {
  const ProgramResult log = e.machine.run("dmesg", {"dmesg"});
  if (!log.succeeded()) {
    return {{"gpu.xid", FindingState::absent, log.failure("dmesg"), "",
             "as root, or with kernel.dmesg_restrict = 0, Xids in the kernel's log are looked for"}};
  }
  std::map<int, std::map<std::string, int>> counts;
  for (const std::string& line : lines_of(log.out)) {
    const auto [device, number] = parse_xid(line);
    if (number > 0) ++counts[number][device];
  }
  const bool driver = e.machine.read("/proc/driver/nvidia/version").has_value();
  if (counts.empty() && !driver) {
    return {missing("gpu.xid", false, "no NVIDIA driver", "", "")};
  }
  if (counts.empty()) return {good("gpu.xid", "none in the kernel's log")};

  Findings out;
  for (const auto& [number, devices] : counts) {
    const Xid xid = find_xid(static_cast<std::uint64_t>(number));
    std::vector<std::string> places;
    for (const auto& [device, count] : devices) places.push_back(fmt::format("{} ({}x)", device, count));
    const std::string seen = fmt::format("Xid {}, {}, on {}", number, xid.meaning, joined(places));
    if (xid.verdict == XidVerdict::well) {
      out.push_back(good("gpu.xid", seen + ": the GPU is well"));
    } else {
      out.push_back(
          {"gpu.xid", xid.verdict == XidVerdict::broken ? FindingState::bad : FindingState::warning, seen,
           "none since the last repair",
           fmt::format("{}; when it is repaired without a reboot, empty the log: dmesg --clear", xid.for_node)});
    }
  }
  return out;
}

}  // namespace octet
