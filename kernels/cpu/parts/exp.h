#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace octet::cpu {

/// e^x for fp32 without a branch, a table or a library call, so that loops over it vectorise and give the same bits in
/// every lane and in a loop's scalar rest. Relative error at most 1e-7 (exp_test samples the whole range). Results
/// below the smallest normal float are 0, above the largest +inf; NaN stays NaN.
///
/// x = n·ln 2 + r with |r| <= ln 2 / 2, ln 2 in two parts (Cody & Waite), and the polynomial of Moshier's Cephes
/// library (expf.c) for e^r; n is added to the exponent bits. Fused multiply-add is written out, so compilers agree on
/// the bits.
inline float exp_f32(float x) {
  constexpr float log2_e = 1.44269504088896341f;
  constexpr float ln2_high = 0.693359375f;
  constexpr float ln2_low = -2.12194440e-4f;
  constexpr float round = 0x1.8p23f;        // adding it leaves the nearest integer in the low bits
  constexpr float lowest = -0x1.5d589ep6f;  // ln of the smallest normal float
  constexpr float highest = 0x1.62e42ep6f;  // ln of the largest float

  const float shifted = std::fma(x, log2_e, round);
  const float n = shifted - round;
  const float r = std::fma(n, -ln2_low, std::fma(n, -ln2_high, x));
  float p = 1.9875691500e-4f;
  p = std::fma(p, r, 1.3981999507e-3f);
  p = std::fma(p, r, 8.3334519073e-3f);
  p = std::fma(p, r, 4.1665795894e-2f);
  p = std::fma(p, r, 1.6666665459e-1f);
  p = std::fma(p, r, 5.0000001201e-1f);
  const float e_r = std::fma(p, r * r, r) + 1.0f;

  const std::uint32_t exponent = std::bit_cast<std::uint32_t>(shifted) << 23;  // the bits of `round` are shifted out
  const std::uint32_t scaled = std::bit_cast<std::uint32_t>(e_r) + exponent;
  const float beyond = x * std::numeric_limits<float>::infinity();  // +inf above the range, NaN for NaN
  // Masks, because gcc turns conditional expressions over computed values into branches and then does not vectorise.
  const std::uint32_t in_range = 0u - static_cast<std::uint32_t>(x <= highest);
  const std::uint32_t not_below = 0u - static_cast<std::uint32_t>(!(x < lowest));
  return std::bit_cast<float>(((scaled & in_range) | (std::bit_cast<std::uint32_t>(beyond) & ~in_range)) & not_below);
}

}  // namespace octet::cpu
