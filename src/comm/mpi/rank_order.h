#pragma once

#include <cstdint>
#include <span>

namespace octet {

/// out[i] = from[0][i] + from[1][i] + …, folded from the left: the order that makes sums the same bits for any MPI,
/// message timing and number of threads. `out` may be one of `from` (the same address), but must not overlap them
/// otherwise.
void sum_in_rank_order(std::span<const float* const> from, float* out, std::int64_t count);

}  // namespace octet
