#pragma once

#include <cstdint>

#include "kernels/stats.h"

namespace octet {

/// y = silu(gate) · up, silu(x) = x / (1 + e^-x), in fp32.
struct SwigluForward {
  const void* gate = nullptr;  ///< [n]
  const void* up = nullptr;    ///< [n]
  void* y = nullptr;           ///< [n]; null where only its float8 forms are wanted
  DType dtype = DType::bf16;
  std::int64_t n = 0;
  std::int64_t columns = 0;  ///< of the tensors as matrices; needed for transposed fp8 forms only
  StatsOut stats;            ///< of y
  Float8Out float8{};        ///< of y

  std::int64_t bytes_moved() const {
    const int written = y == nullptr && float8.wanted() ? 0 : 1;
    return n * ((2 + written) * size_of(dtype) + float8.forms());
  }
  bool operator==(const SwigluForward&) const = default;
};

struct SwigluBackward {
  const void* gate = nullptr;  ///< [n]
  const void* up = nullptr;    ///< [n]
  const void* dy = nullptr;    ///< [n]
  void* d_gate = nullptr;      ///< [n]; may be gate; null where only its float8 forms or statistics are wanted
  void* d_up = nullptr;        ///< [n]; may be up; null likewise
  DType dtype = DType::bf16;
  std::int64_t n = 0;
  std::int64_t columns = 0;  ///< as above
  StatsOut gate_stats;       ///< of d_gate
  StatsOut up_stats;         ///< of d_up
  Float8Out gate_float8{};   ///< of d_gate
  Float8Out up_float8{};     ///< of d_up

  std::int64_t bytes_moved() const {
    const int gates = d_gate == nullptr ? 0 : 1, ups = d_up == nullptr ? 0 : 1;
    return n * ((3 + gates + ups) * size_of(dtype) + gate_float8.forms() + up_float8.forms());
  }
  bool operator==(const SwigluBackward&) const = default;
};

}  // namespace octet
