#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "src/cluster/doctor/doctor_checks.h"
#include "src/cluster/machine/text_lines.h"

namespace octet {
namespace {

constexpr double most_seconds = 0.1;
constexpr const char* advice =
    "start chronyd (systemctl status chronyd): logs of nodes cannot be put in order otherwise, and munge refuses a "
    "clock that is minutes off";

/// From `chronyc -n tracking`: "System time     : 0.000012345 seconds slow of NTP time", "Leap status     : Normal".
Finding from_chrony(const std::string& text) {
  const std::string leap = value_after(text, "Leap status");
  const std::string offset = value_after(text, "System time");
  double seconds = 0;
  std::from_chars(offset.data(), offset.data() + offset.size(), seconds);
  if (leap == "Not synchronised")
    return {"clock", FindingState::warning, "chronyd has no time server", "a time server", advice};
  if (std::abs(seconds) > most_seconds) {
    return {"clock", FindingState::warning, offset, fmt::format("at most {} s from the time server", most_seconds),
            advice};
  }
  return good("clock", offset);
}

}  // namespace

Findings node_checks::check_clock(const Examination& e) {
  const ProgramResult chrony = e.machine.run("chronyc", {"chronyc", "-n", "tracking"}, 3);
  if (chrony.succeeded()) return {from_chrony(chrony.out)};
  const ProgramResult systemd =
      e.machine.run("timedatectl", {"timedatectl", "show", "--property=NTPSynchronized", "--value"}, 3);
  if (!systemd.succeeded()) {
    return {missing("clock", false, fmt::format("{}, {}", chrony.failure("chronyc"), systemd.failure("timedatectl")),
                    "", "")};
  }
  if (trimmed(systemd.out) == "yes") return {good("clock", "kept by a time server")};
  return {{"clock", FindingState::warning, "not kept by a time server", "a time server", advice}};
}

}  // namespace octet
