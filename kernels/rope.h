#pragma once

#include <cstdint>

#include "kernels/stats.h"

namespace octet {

/// Rotary position embedding in place, half-split (Hugging Face): elements i and i + head_dim/2 of a head are a pair,
/// rotated by position · theta^(-2i/head_dim); `inverse` rotates back (backward). Moves x twice and the tables once.
struct Rope {
  void* x = nullptr;          ///< [batch, seq, heads, head_dim]
  DType dtype = DType::bf16;  ///< f32 or bf16
  std::int64_t batch = 0;
  std::int64_t seq = 0;
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  const float* cos = nullptr;  ///< [seq, head_dim / 2]
  const float* sin = nullptr;  ///< [seq, head_dim / 2]
  bool inverse = false;
  StatsOut stats;  ///< of the result

  bool operator==(const Rope&) const = default;
};

inline std::int64_t bytes_moved(const Rope& a) {
  return 2 * a.batch * a.seq * a.heads * a.head_dim * size_of(a.dtype) + a.seq * a.head_dim * 4;
}

}  // namespace octet
