#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/cpu/parts/registers.h"
#include "kernels/cpu/parts/vector.h"

/// fp8 to fp32 in registers. A code becomes an fp16 by a shift, of which the processor makes an fp32, subnormal ones
/// too, in a third of the instructions that e4m3::decode takes.
namespace octet::cpu {

inline constexpr int codes_at_once = 2 * registers::lanes;

#if defined(__F16C__) && defined(__AVX2__)

/// The value of a code is so many times what widen_codes gives: fp16's exponent has a larger bias than e4m3's.
template <typename T>
inline constexpr float code_unit = std::is_same_v<T, e4m3> ? 256.0f : 1.0f;

template <typename T>
inline void widen_codes(const T* codes, registers::Vector (&to)[2]) {
  using Codes = std::int8_t __attribute__((vector_size(codes_at_once)));
  using Halves = std::int16_t __attribute__((vector_size(2 * codes_at_once), may_alias));
  Codes read;  // clang takes a pointer to a vector to be aligned, whatever its type says
  std::memcpy(&read, codes, sizeof read);
  Halves h = __builtin_convertvector(read, Halves);
  if constexpr (std::is_same_v<T, e4m3>) {
    h = (h << 7) & std::int16_t{-0x4001};                                                // all but the sign's copy
    h |= ((h | std::int16_t{-0x8000}) == std::int16_t{-0x4080}) & std::int16_t{0x7E00};  // NaN, which is finite in fp16
  } else {
    h <<= 8;
  }
#if defined(__AVX512F__)
  __m256i halves[2];
  std::memcpy(halves, &h, sizeof h);
  // Masked by nothing: gcc 12 warns of what the plain form leaves undefined.
  const __m512 wide[2] = {_mm512_maskz_cvtph_ps(0xFFFF, halves[0]), _mm512_maskz_cvtph_ps(0xFFFF, halves[1])};
#else
  __m128i halves[2];
  std::memcpy(halves, &h, sizeof h);
  const __m256 wide[2] = {_mm256_cvtph_ps(halves[0]), _mm256_cvtph_ps(halves[1])};
#endif
  for (int i = 0; i < 2; ++i) to[i] = reinterpret_cast<const registers::Vector&>(wide[i]);
}

#else

template <typename T>
inline constexpr float code_unit = 1.0f;

template <typename T>
inline void widen_codes(const T* codes, registers::Vector (&to)[2]) {
  alignas(64) float wide[codes_at_once];
  convert_loop(codes, wide, codes_at_once);
  for (int i = 0; i < 2; ++i) to[i] = registers::load(wide + i * registers::lanes);
}

#endif

}  // namespace octet::cpu
