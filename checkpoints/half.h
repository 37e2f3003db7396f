#pragma once

#include <cstdint>

namespace octet::checkpoint {

// IEEE half precision (binary16) as bits, in which weights are stored and never computed with.

/// Every half is a float.
float from_half(std::uint16_t half);

/// Rounded to nearest even, subnormal numbers included. What rounds beyond the largest finite half, 65504, becomes an
/// infinity, which the caller looks for; a NaN stays one.
std::uint16_t to_half(float x);

}  // namespace octet::checkpoint
