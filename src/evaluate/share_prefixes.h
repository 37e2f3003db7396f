#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace octet {

/// Neighbours in a sorted list of texts, and how many tokens each of them begins with that all have in common.
struct PrefixGroup {
  std::size_t first = 0, count = 0;
  std::int64_t shared = 0;  ///< 0 where count is 1

  bool operator==(const PrefixGroup&) const = default;
};

/// Divides texts, which are sorted by their tokens and of which none is the beginning of another, into groups. The
/// tokens that groups share and the rests of their texts are together the fewest of all divisions in which groups of
/// more than one text share at least `least` >= 1 tokens and are at most `room` tokens long. O(n · texts that begin
/// alike).
std::vector<PrefixGroup> share_prefixes(std::span<const std::vector<std::int32_t>* const> texts, std::int64_t least,
                                        std::int64_t room);

}  // namespace octet
