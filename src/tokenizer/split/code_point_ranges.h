#pragma once

#include <cstdint>
#include <span>

namespace octet {

struct CodePointRange {
  std::uint32_t first;
  std::uint32_t last;
};

// Code points of the categories L and N in Unicode 16.0, ascending and apart. PCRE2 and ICU of Debian 12 know older
// versions, and equal ids need the same version.
std::span<const CodePointRange> letter_ranges();
std::span<const CodePointRange> number_ranges();

}  // namespace octet
