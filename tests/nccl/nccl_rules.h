#pragma once

#include <fmt/format.h>
#include <nccl.h>

#include <string>

namespace octet::test {

/// What NCCL says of settings that it refuses (parseCommConfig in its src/init.cc); empty where it takes them. It
/// compares the fields before it fills in its defaults, and one that is not set is the smallest int: so a lower limit
/// needs an upper one.
inline std::string why_refused(const ncclConfig_t& config) {
  const auto too_small = [](int n) { return n != NCCL_CONFIG_UNDEF_INT && n <= 0; };
  if (!too_small(config.minCTAs) && !too_small(config.maxCTAs) && config.minCTAs <= config.maxCTAs) return {};
  return fmt::format("Invalid config min/max channels attribute value {}/{}", config.minCTAs, config.maxCTAs);
}

}  // namespace octet::test
