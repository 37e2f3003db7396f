#pragma once

#include <cstdint>

#include "kernels/stats.h"

namespace octet {

/// y = silu(gate) · up, silu(x) = x / (1 + e^-x), in fp32. Moves 3 · n elements, backward 5; n bytes a float8 form.
struct SwigluForward {
  const void* gate = nullptr;  ///< [n]
  const void* up = nullptr;    ///< [n]
  void* y = nullptr;           ///< [n]
  DType dtype = DType::bf16;
  std::int64_t n = 0;
  std::int64_t columns = 0;  ///< of the tensors as matrices; needed for transposed fp8 forms only
  StatsOut stats;            ///< of y
  Float8Out float8{};        ///< of y

  bool operator==(const SwigluForward&) const = default;
};

struct SwigluBackward {
  const void* gate = nullptr;  ///< [n]
  const void* up = nullptr;    ///< [n]
  const void* dy = nullptr;    ///< [n]
  void* d_gate = nullptr;      ///< [n]; may be gate
  void* d_up = nullptr;        ///< [n]; may be up
  DType dtype = DType::bf16;
  std::int64_t n = 0;
  std::int64_t columns = 0;  ///< as above
  StatsOut gate_stats;       ///< of d_gate
  StatsOut up_stats;         ///< of d_up
  Float8Out gate_float8{};   ///< of d_gate
  Float8Out up_float8{};     ///< of d_up

  bool operator==(const SwigluBackward&) const = default;
};

inline std::int64_t bytes_moved(const SwigluForward& a) {
  return a.n * (3 * size_of(a.dtype) + a.float8.forms());
}
inline std::int64_t bytes_moved(const SwigluBackward& a) {
  return a.n * (5 * size_of(a.dtype) + a.gate_float8.forms() + a.up_float8.forms());
}

}  // namespace octet
