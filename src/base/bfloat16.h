#pragma once

#include <bit>
#include <cstdint>

namespace octet {

/// bfloat16: the upper half of an IEEE float32. A storage type; arithmetic is done in float.
struct bf16 {
  std::uint16_t bits = 0;

  bf16() = default;
  constexpr explicit bf16(float x) : bits(encode(x)) {}
  constexpr operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

  static constexpr bf16 from_bits(std::uint16_t b) {
    bf16 r;
    r.bits = b;
    return r;
  }

  /// Round to nearest, ties to even; NaN stays a (quiet) NaN with its sign. Branch-free, so loops vectorise.
  static constexpr std::uint16_t encode(float x) {
    const std::uint32_t u = std::bit_cast<std::uint32_t>(x);
    // A mask and signed numbers, because gcc vectorises a selection between two results at half the speed.
    const bool is_nan = static_cast<std::int32_t>(u & 0x7FFFFFFFu) > 0x7F800000;
    const std::uint32_t nan = 0u - static_cast<std::uint32_t>(is_nan);
    const std::uint32_t up = 0x7FFFu + ((u >> 16) & 1u);
    return static_cast<std::uint16_t>(((u + (up & ~nan)) | (nan & 0x00400000u)) >> 16);
  }
};

}  // namespace octet
