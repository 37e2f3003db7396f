#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace octet {

/// Steps that are profiled; none where `last` is 0.
struct ProfileSteps {
  static constexpr std::int64_t most = 20;  ///< spans are held in memory until the last one

  std::int64_t first = 0, last = 0;
  bool none() const { return last == 0; }
  std::int64_t count() const { return none() ? 0 : last - first + 1; }
};

/// Reads train.profile: "off", or "A-B" with steps from 1. Nothing for any other text; that A is not above B is for
/// validate() to say.
std::optional<ProfileSteps> parse_profile_steps(std::string_view text);

}  // namespace octet
