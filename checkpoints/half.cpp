#include "checkpoints/half.h"

#include <bit>
#include <cmath>

namespace octet::checkpoint {
namespace {

constexpr std::uint32_t half_infinity = 0x7C00, half_quiet_nan = 0x7E00;
constexpr std::uint32_t smallest_normal = 0x38800000;  // 2^-14 as a float
constexpr std::uint32_t first_infinite = 0x477FF000;   // 65520, half-way between 65504 and 2^16, of which 2^16 is even
constexpr std::uint32_t float_infinity = 0x7F800000;

}  // namespace

float from_half(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000u} << 16, exponent = (half >> 10) & 31u;
  const std::uint32_t fraction = half & 0x3FFu;
  if (exponent == 0) {  // zero and subnormal numbers: multiples of 2^-24
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t widened = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | widened << 23 | fraction << 13);
}

std::uint16_t to_half(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
  std::uint32_t half = 0;
  if (magnitude > float_infinity) {
    half = half_quiet_nan;
  } else if (magnitude >= first_infinite) {
    half = half_infinity;
  } else if (magnitude >= smallest_normal) {
    // 13 bits go; a carry out of the fraction is the next exponent, as it should be.
    half = (magnitude + 0xFFFu + ((magnitude >> 13) & 1u) - (112u << 23)) >> 13;
  } else {
    half = static_cast<std::uint32_t>(std::nearbyint(std::bit_cast<float>(magnitude) * 0x1p24f));
  }
  return static_cast<std::uint16_t>(sign | half);
}

}  // namespace octet::checkpoint
