#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <cstdint>

namespace octet::cpu {

/// to[j][i] = from[i][j] for i, j < 8; rows are a stride apart.
inline void transpose_eight(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride) {
#if defined(__AVX2__)
  __m256 rows[8], pairs[8], fours[8];
  for (int i = 0; i < 8; ++i) rows[i] = _mm256_loadu_ps(from + i * from_stride);
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    for (int j = 0; j < 2; ++j) {
      fours[i + 2 * j] = _mm256_shuffle_ps(pairs[i + j], pairs[i + 2 + j], 0x44);
      fours[i + 2 * j + 1] = _mm256_shuffle_ps(pairs[i + j], pairs[i + 2 + j], 0xEE);
    }
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(to + i * to_stride, _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x20));
    _mm256_storeu_ps(to + (i + 4) * to_stride, _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x31));
  }
#else
  for (std::int64_t i = 0; i < 8; ++i) {
    for (std::int64_t j = 0; j < 8; ++j) to[j * to_stride + i] = from[i * from_stride + j];
  }
#endif
}

}  // namespace octet::cpu
