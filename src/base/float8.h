#pragma once

#include <bit>
#include <cstdint>

namespace octet {

/// 8-bit floats of the OCP OFP8 specification. Both are storage types: encode saturates to the largest finite value
/// (infinity included, as `clamp` before the cast does in torchao), rounds to nearest with ties to even, keeps
/// subnormals, and maps NaN to code 0x7F with its sign. Encode and decode are branch-free, so loops vectorise.

/// e4m3fn: bias 7, largest finite 448, no infinity, NaN is S.1111.111. For activations and weights.
struct e4m3 {
  static constexpr float max = 448.0f;
  std::uint8_t bits = 0;

  e4m3() = default;
  constexpr explicit e4m3(float x) : bits(encode(x)) {}
  constexpr operator float() const { return decode(bits); }
  static constexpr e4m3 from_bits(std::uint8_t b) {
    e4m3 r;
    r.bits = b;
    return r;
  }

  static constexpr std::uint8_t encode(float x) {
    const std::uint32_t u = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t magnitude = u & 0x7FFFFFFFu;
    const std::uint32_t a = magnitude < 0x43E00000u ? magnitude : 0x43E00000u;  // 448
    const std::uint32_t normal = ((a + 0x7FFFFu + ((a >> 20) & 1u)) >> 20) - (120u << 3);
    // Adding 2^14 leaves a unit in the last place of 2^-9, the subnormal step, and the FPU rounds for us.
    const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(a) + 16384.0f) - 0x46800000u;
    const std::uint32_t finite = a < 0x3C800000u ? subnormal : normal;  // 2^-6
    const std::uint32_t code = magnitude > 0x7F800000u ? 0x7Fu : finite;
    return static_cast<std::uint8_t>(code | ((u >> 24) & 0x80u));
  }

  static constexpr float decode(std::uint8_t c) {
    const std::uint32_t m = c & 0x7Fu;
    const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<int>(m)) * 0x1p-9f);
    const std::uint32_t normal = (m << 20) + (120u << 23);
    const std::uint32_t finite = m < 8u ? subnormal : normal;
    const std::uint32_t code = m == 0x7Fu ? 0x7FC00000u : finite;
    return std::bit_cast<float>(code | (static_cast<std::uint32_t>(c & 0x80u) << 24));
  }
};

/// e5m2: bias 15, largest finite 57344, IEEE infinity and NaN codes (decode knows infinity, encode never makes it).
/// For output gradients.
struct e5m2 {
  static constexpr float max = 57344.0f;
  std::uint8_t bits = 0;

  e5m2() = default;
  constexpr explicit e5m2(float x) : bits(encode(x)) {}
  constexpr operator float() const { return decode(bits); }
  static constexpr e5m2 from_bits(std::uint8_t b) {
    e5m2 r;
    r.bits = b;
    return r;
  }

  static constexpr std::uint8_t encode(float x) {
    const std::uint32_t u = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t magnitude = u & 0x7FFFFFFFu;
    const std::uint32_t a = magnitude < 0x47600000u ? magnitude : 0x47600000u;  // 57344
    const std::uint32_t normal = ((a + 0xFFFFFu + ((a >> 21) & 1u)) >> 21) - (112u << 2);
    const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(a) + 128.0f) - 0x43000000u;
    const std::uint32_t finite = a < 0x38800000u ? subnormal : normal;  // 2^-14
    const std::uint32_t code = magnitude > 0x7F800000u ? 0x7Fu : finite;
    return static_cast<std::uint8_t>(code | ((u >> 24) & 0x80u));
  }

  static constexpr float decode(std::uint8_t c) {
    const std::uint32_t m = c & 0x7Fu;
    const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<int>(m)) * 0x1p-16f);
    const std::uint32_t normal = (m << 21) + (112u << 23);
    const std::uint32_t special = m == 0x7Cu ? 0x7F800000u : 0x7FC00000u;
    const std::uint32_t finite = m < 4u ? subnormal : normal;
    const std::uint32_t code = m >= 0x7Cu ? special : finite;
    return std::bit_cast<float>(code | (static_cast<std::uint32_t>(c & 0x80u) << 24));
  }
};

}  // namespace octet
