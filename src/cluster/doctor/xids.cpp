#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "src/base/options/text.h"
#include "src/cluster/doctor/checks.h"
#include "src/cluster/doctor/lines.h"

namespace octet {
namespace {

struct Meaning {
  int number;
  State state;
  std::string_view text, advice;
};

constexpr std::string_view reset = "leave the node out and reset the GPU (nvidia-smi -r)";

// A fault of a program leaves the GPU well; what is not listed is shown as a warning.
constexpr Meaning meanings[] = {
    {13, State::ok, "exception in a kernel", ""},
    {31, State::ok, "page fault of a program", ""},
    {43, State::ok, "a program's work was stopped", ""},
    {45, State::ok, "cleanup after a program", ""},
    {46, State::bad, "GPU stopped processing", reset},
    {48, State::bad, "double-bit ECC error", reset},
    {54, State::bad, "auxiliary power is not connected", "leave the node out and check the board's power cables"},
    {62, State::bad, "halt of an internal microcontroller", reset},
    {63, State::warning, "a row of memory is to be remapped", "reset the GPU when convenient"},
    {64, State::bad, "a row of memory could not be remapped", reset},
    {74, State::bad, "NVLink error",
     "leave the node out, reset the GPU or reboot; the cause may be the link's other end"},
    {79, State::bad, "GPU has fallen off the bus", "leave the node out and reboot it"},
    {94, State::warning, "contained memory error", "reset the GPU when convenient"},
    {95, State::bad, "uncontained memory error", reset},
    {109, State::bad, "timeout of a context switch", reset},
    {119, State::bad, "the GPU's system processor does not answer", reset},
    {120, State::bad, "error of the GPU's system processor", reset},
    {136, State::bad, "an NVLink was not trained", reset},
    {140, State::bad, "ECC error that was not recovered", reset},
    {143, State::bad, "GPU was not initialised", reset},
    {158, State::bad, "fatal timeout of the GPU", reset},
};

constexpr Meaning unknown{0, State::warning, "see the catalog",
                          "look it up: docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html"};

const Meaning& meaning_of(int number) {
  const auto* found = std::ranges::find(meanings, number, &Meaning::number);
  return found == std::end(meanings) ? unknown : *found;
}

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

Findings check_xids(const Examination& e) {
  const ProgramResult log = e.machine.run("dmesg", {"dmesg"});
  if (!log.succeeded()) {
    return {{"gpu.xid", State::absent, log.failure("dmesg"), "",
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
    const Meaning& m = meaning_of(number);
    std::vector<std::string> places;
    for (const auto& [device, count] : devices) places.push_back(fmt::format("{} ({}x)", device, count));
    const std::string seen = fmt::format("Xid {}, {}, on {}", number, m.text, joined(places));
    if (m.state == State::ok) {
      out.push_back(good("gpu.xid", seen + ": the GPU is well"));
    } else {
      out.push_back({"gpu.xid", m.state, seen, "none since the last repair",
                     fmt::format("{}; when it is repaired without a reboot, empty the log: dmesg --clear", m.advice)});
    }
  }
  return out;
}

}  // namespace octet
