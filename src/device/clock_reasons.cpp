#include "src/device/clock_reasons.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

namespace octet::clock_reasons {

std::string names(std::uint64_t bits) {
  constexpr std::pair<std::uint64_t, std::string_view> table[] = {{idle, "idle"},
                                                                  {setting, "clock setting"},
                                                                  {power_cap, "power cap"},
                                                                  {hardware_slowdown, "hardware slowdown"},
                                                                  {sync_boost, "sync boost"},
                                                                  {software_thermal, "software thermal slowdown"},
                                                                  {hardware_thermal, "hardware thermal slowdown"},
                                                                  {power_brake, "hardware power brake"},
                                                                  {display_setting, "display clock setting"}};
  std::vector<std::string> found;
  for (const auto& [bit, name] : table) {
    if ((bits & bit) != 0) found.emplace_back(name);
    bits &= ~bit;
  }
  if (bits != 0) found.push_back(fmt::format("reason {:#x}", bits));
  return found.empty() ? "none" : fmt::format("{}", fmt::join(found, ", "));
}

}  // namespace octet::clock_reasons
