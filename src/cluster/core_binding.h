#pragma once

#include <array>
#include <string_view>

namespace octet {

/// Whether ranks keep to their share of the cores, near their GPU: cpu.bind of a run, and of a profile for its runs.
enum class CoreBinding { automatic, off };
constexpr auto names_of(CoreBinding) {
  return std::to_array<std::string_view>({"auto", "off"});
}

}  // namespace octet
