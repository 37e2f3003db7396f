#pragma once

#include <cstdint>

namespace octet {

struct PhiloxBlock {
  std::uint32_t v[4];
};

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11) for code that runs on a GPU too:
/// constexpr, which nvcc compiles for both. It gives what Random123 gives, which random.h uses and a test compares.
constexpr PhiloxBlock philox(PhiloxBlock counter, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53u} * counter.v[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57u} * counter.v[2];
    counter = {{static_cast<std::uint32_t>(second >> 32) ^ counter.v[1] ^ key0, static_cast<std::uint32_t>(second),
                static_cast<std::uint32_t>(first >> 32) ^ counter.v[3] ^ key1, static_cast<std::uint32_t>(first)}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

}  // namespace octet
