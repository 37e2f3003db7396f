#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace octet {

/// Code points first, first + step, ... last, each of which becomes the one that is `difference` further.
struct CaseRun {
  std::uint32_t first, last, step;
  std::int32_t difference;
};

/// A code point that becomes several, in UTF-8.
struct LongCase {
  std::uint32_t from;
  std::string_view to;
};

/// What is in neither stays as it is. Both are sorted.
struct CaseTable {
  std::span<const CaseRun> runs;
  std::span<const LongCase> long_ones;
};

/// What Python's str.capitalize makes of all characters but the first; the capital sigma, whose small form depends on
/// its place, is not there.
CaseTable small_letters();
/// What it makes of the first.
CaseTable first_letters();

}  // namespace octet
