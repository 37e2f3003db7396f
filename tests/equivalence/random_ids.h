#pragma once

#include <cstdint>
#include <vector>

#include "src/base/random.h"

namespace octet {

/// `n` ids below `vocab`, the numbers from `first` on of the sequence that `key` names, the same on every rank.
inline std::vector<std::int32_t> random_ids(const RandomKey& key, std::int64_t first, std::int64_t n,
                                            std::uint64_t vocab = 64) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < n; ++i) {
    ids.push_back(static_cast<std::int32_t>(random_bits(key, static_cast<std::uint64_t>(first + i)) % vocab));
  }
  return ids;
}

/// The same, but half of the ids depend on their place, with a period, so that there is something to learn.
inline std::vector<std::int32_t> learnable_ids(const RandomKey& key, std::int64_t first, std::int64_t n,
                                               std::int64_t period = 11, std::uint64_t vocab = 64) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t bits = random_bits(key, static_cast<std::uint64_t>(first + i));
    ids.push_back(bits % 2 == 0 ? static_cast<std::int32_t>(i % period) : static_cast<std::int32_t>(bits / 2 % vocab));
  }
  return ids;
}

}  // namespace octet
