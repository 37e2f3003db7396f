#pragma once

#include <cstdint>

namespace octet {

/// How many pieces of `piece` hold `n`: n / piece, rounded up. n >= 0, piece > 0, and n + piece fits.
constexpr std::int64_t ceil_div(std::int64_t n, std::int64_t piece) {
  return (n + piece - 1) / piece;
}

/// The least multiple of `multiple` that is not below `n`, as alignment and padding ask for. n >= 0, multiple > 0.
constexpr std::int64_t round_up(std::int64_t n, std::int64_t multiple) {
  return ceil_div(n, multiple) * multiple;
}

}  // namespace octet
