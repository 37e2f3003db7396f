#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include "src/base/options/text.h"
#include "src/cluster/doctor/doctor_checks.h"
#include "src/cluster/doctor/kernel_log.h"
#include "src/cluster/machine/text_lines.h"

namespace octet {
namespace {

/// Errors of one kind, number and words, of which devices, and how often of each.
struct Repeated {
  DriverError error;
  std::map<std::string, int> counts;
};

std::vector<Repeated> driver_errors(const std::string& log) {
  std::map<std::tuple<std::string, std::uint64_t, std::string>, Repeated> sorted;
  for (const std::string& line : lines_of(log)) {
    const auto error = parse_driver_error(line);
    if (!error) continue;
    if (error->kind == "Xid" && error->xid.number == xid_of_recovery) {
      for (auto& [key, earlier] : sorted) {
        if (earlier.error.xid.number == xid_of_recovery) earlier.counts.erase(error->device);
      }
    }
    Repeated& same =
        sorted.try_emplace({error->kind, error->xid.number, error->said}, Repeated{*error, {}}).first->second;
    ++same.counts[error->device];
  }
  std::vector<Repeated> out;
  for (auto& [key, repeated] : sorted) {
    if (!repeated.counts.empty()) out.push_back(std::move(repeated));
  }
  return out;
}

Finding judge(const Repeated& repeated) {
  const auto& [kind, device, xid, said] = repeated.error;
  std::vector<std::string> places;
  for (const auto& [place, count] : repeated.counts) places.push_back(fmt::format("{} ({}x)", place, count));
  const std::string seen = fmt::format("{} {}, {}{}{}, on {}", kind, xid.number, xid.meaning, said.empty() ? "" : ": ",
                                       said, joined(places));
  if (xid.verdict == XidVerdict::well) return good("gpu.xid", seen + ": the GPU is well");
  return {"gpu.xid", xid.verdict == XidVerdict::broken ? FindingState::bad : FindingState::warning, seen,
          "none since the last repair",
          fmt::format("{}; when it is repaired without a reboot, empty the log: dmesg --clear", xid.for_node)};
}

}  // namespace

/// Actions are as NVIDIA's Xid catalog has them (docs.nvidia.com/deploy/xid-errors).
Findings node_checks::check_xids(const Examination& e) {
  const ProgramResult log = e.machine.run("dmesg", {"dmesg"});
  if (!log.succeeded()) {
    return {{"gpu.xid", FindingState::absent, log.failure("dmesg"), "",
             "as root, or with kernel.dmesg_restrict = 0, Xids in the kernel's log are looked for"}};
  }
  const std::vector<Repeated> errors = driver_errors(log.out);
  const bool driver = e.machine.read("/proc/driver/nvidia/version").has_value();
  if (errors.empty() && !driver) {
    return {missing("gpu.xid", false, "no NVIDIA driver", "", "")};
  }
  if (errors.empty()) return {good("gpu.xid", "none in the kernel's log")};
  Findings out;
  std::ranges::transform(errors, std::back_inserter(out), judge);
  return out;
}

}  // namespace octet
