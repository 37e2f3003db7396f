#include <fmt/format.h>

#include <charconv>

#include "src/cluster/doctor/doctor_checks.h"
#include "src/cluster/machine/text_lines.h"

namespace octet {
namespace {

/// GiB of "MemTotal:       24689764 kB"; 0: unknown.
double memory_gib(const Machine& machine) {
  const std::string text = value_after(machine.read("/proc/meminfo").value_or(""), "MemTotal");
  double kib = 0;
  std::from_chars(text.data(), text.data() + text.size(), kib);
  return kib / 1024 / 1024;
}

std::int64_t processors(const Machine& machine) {
  std::int64_t count = 0;
  for (const std::string& line : lines_of(machine.read("/proc/cpuinfo").value_or(""))) {
    if (line.starts_with("processor")) ++count;
  }
  return count;
}

/// Less than the profile has can be a memory module or a socket that failed; the kernel keeps some memory to itself.
Finding check_memory(const Examination& e) {
  const double seen = memory_gib(e.machine);
  if (seen == 0) return missing("memory.size", false, "/proc/meminfo does not say", "", "");
  const std::string text = fmt::format("{:.0f} GiB", seen);
  if (e.profile == nullptr || seen >= 0.9 * static_cast<double>(e.profile->nodes.memory_gib))
    return good("memory.size", text);
  return {"memory.size", FindingState::bad, text,
          fmt::format("{} GiB, as {} says", e.profile->nodes.memory_gib, e.profile->name),
          "look for a memory module that is missing (dmidecode -t memory) and for memory that another program holds"};
}

Finding check_cores(const Examination& e) {
  const std::int64_t seen = processors(e.machine);
  if (seen == 0) return missing("cpu.cores", false, "/proc/cpuinfo does not say", "", "");
  const std::string text = fmt::format("{} CPUs", seen);
  const std::int64_t expected = e.profile == nullptr ? 0 : e.profile->cpu.cores;
  if (seen >= expected) return good("cpu.cores", text);
  return {"cpu.cores", FindingState::bad, text, fmt::format("{} cores, as {} says", expected, e.profile->name),
          "look for cores that are switched off (lscpu)"};
}

Finding check_huge_pages(const Examination& e) {
  const auto modes = e.machine.read("/sys/kernel/mm/transparent_hugepage/enabled");  // "always [madvise] never"
  if (!modes) return missing("memory.huge_pages", false, "the kernel has no transparent huge pages", "", "");
  const std::size_t open = modes->find('[');
  const std::string mode = open == std::string::npos ? *modes : modes->substr(open + 1, modes->find(']') - open - 1);
  if (mode != "never") return good("memory.huge_pages", "transparent: " + mode);
  return {
      "memory.huge_pages", FindingState::warning, "transparent: never", "madvise or always",
      "large buffers of the host cost more page faults: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"};
}

}  // namespace

Findings node_checks::check_host(const Examination& e) {
  return {check_memory(e), check_cores(e), check_huge_pages(e)};
}

}  // namespace octet
