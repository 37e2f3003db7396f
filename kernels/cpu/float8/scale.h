#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "src/base/dtype.h"

namespace octet::cpu {

/// exp2(floor(log2(x))) of a positive normal number: its exponent. Zero and NaN stay.
inline float power_below(float x) {
  return std::isnan(x) ? x : std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0x7F800000u);
}

/// The scale of an abs-max by the rule of ComputeScales (kernels/cast.h).
inline float scale_of(float amax, DType format, bool power_of_two) {
  const auto value = static_cast<double>(amax);
  // Written so that a NaN fails the comparison and stays.
  const double clamped = value < 1e-12 ? 1e-12 : value;
  const auto exact = static_cast<float>(static_cast<double>(float8_max(format)) / clamped);
  return power_of_two ? power_below(exact) : exact;
}

}  // namespace octet::cpu
