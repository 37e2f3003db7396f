#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/named_enum.h"

namespace octet {

/// How a check ended. `absent`: the hardware or the tool that the check needs is not there, so nothing is known.
enum class FindingState { ok, warning, bad, absent };

constexpr auto names_of(FindingState) {
  return std::to_array<std::string_view>({"ok", "warning", "bad", "not present"});
}

/// What one check found, in words for a person. `expected` and `advice` are empty where there is nothing to say.
struct Finding {
  std::string check;  ///< "gpu.count"
  FindingState state = FindingState::ok;
  std::string seen, expected, advice;
};

using Findings = std::vector<Finding>;

/// Says whether no finding is bad.
bool healthy(const Findings& findings);

Finding good(std::string check, std::string seen);
/// The finding for hardware or a tool that is not there: bad where it is `required`, else absent.
Finding missing(std::string check, bool required, std::string seen, std::string expected, std::string advice);

}  // namespace octet
