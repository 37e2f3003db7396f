#include <fmt/format.h>

#include "src/cluster/doctor/examine.h"
#include "src/cluster/doctor/free_space.h"
#include "src/cluster/doctor/text_lines.h"

namespace octet {
namespace {

/// The soft limit of a line like "Max locked memory  8388608  8388608  bytes"; empty where there is no such line.
std::string limit_of(const Machine& machine, const std::string& key) {
  for (const std::string& line : lines_of(machine.read("/proc/self/limits").value_or(""))) {
    if (!line.starts_with(key)) continue;
    const std::string rest = trimmed(line.substr(key.size()));
    return rest.substr(0, rest.find(' '));
  }
  return "";
}

Finding check_locked_memory(const Examination& e) {
  const char* check = "limits.locked_memory";
  const bool cards = !e.machine.list("/sys/class/infiniband").empty();
  if (!cards && !e.expects_cards()) return missing(check, false, "no card registers memory here", "", "");
  const std::string limit = limit_of(e.machine, "Max locked memory");
  if (limit.empty()) return missing(check, false, "/proc/self/limits does not say", "", "");
  if (limit == "unlimited") return good(check, limit);
  return {check, e.expects_cards() ? State::bad : State::warning, limit + " bytes", "unlimited",
          "cards register memory, which locks it: memlock unlimited in /etc/security/limits.d, LimitMEMLOCK=infinity "
          "for slurmd, and PropagateResourceLimitsExcept=MEMLOCK in slurm.conf"};
}

/// With no limit glibc gives new threads 2 MiB in place of the usual 8, and NCCL's have crashed (release notes 2.27.6).
Finding check_stack(const Examination& e) {
  const char* check = "limits.stack";
  const std::string limit = limit_of(e.machine, "Max stack size");
  if (limit.empty()) return missing(check, false, "/proc/self/limits does not say", "", "");
  if (limit != "unlimited") return good(check, limit + " bytes");
  return {
      check, State::warning, limit, "8388608 bytes",
      "ulimit -s 8192, on all nodes: without a limit NCCL's threads get stacks of 2 MiB (NCCL 2.27.6, release notes)"};
}

Finding check_shared_memory(const Examination& e) {
  constexpr double least = 1024.0 * 1024 * 1024;
  const FreeSpace space = free_space(e.machine, "df-shm", "/dev/shm");
  if (!space.known) return missing("limits.shared_memory", false, space.reason, "", "");
  const std::string seen = fmt::format("{:.1f} GiB free", space.bytes / least);
  if (space.bytes >= least) return good("limits.shared_memory", seen);
  return {"limits.shared_memory", State::warning, seen, "1 GiB in /dev/shm",
          "ranks of a node share memory there: start the container with --shm-size=8g or --ipc=host, or remove what "
          "ended programs left in it"};
}

}  // namespace

Findings check_limits(const Examination& e) {
  return {check_locked_memory(e), check_stack(e), check_shared_memory(e)};
}

}  // namespace octet
