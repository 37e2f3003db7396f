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

/// Divides texts, sorted by their tokens, none the beginning of another, into groups, so that what a group shares and
/// the rests of its texts are the fewest tokens of all divisions in which groups share at least `least` >= 1 tokens and
/// are at most `room` tokens long, if they have more than one text. O(n · texts that begin alike).
std::vector<PrefixGroup> share_prefixes(std::span<const std::vector<std::int32_t>* const> texts, std::int64_t least,
                                        std::int64_t room);

}  // namespace octet
