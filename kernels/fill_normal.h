#pragma once

#include <cstdint>

#include "src/base/normal_quantile.h"
#include "src/base/philox.h"
#include "src/base/random.h"
#include "src/device/device.h"

namespace octet {

/// Initial weights of a piece of a tensor: x[i] = (float)(std · z), where z is the truncated standard normal number
/// random_normal(key, e, cutoff) of the element's place e in the whole tensor. The bits are the same on every device:
/// all operations are integers' or rounded by IEEE 754 (src/base/normal_quantile.h).
struct FillNormal {
  float* x = nullptr;  ///< [n], `columns` a row of the piece
  std::int64_t n = 0;
  std::int64_t columns = 1;
  std::int64_t first_row = 0, first_column = 0;  ///< of the piece in the whole tensor
  std::int64_t row_elements = 1;                 ///< of the whole tensor
  RandomKey key{};
  double std = 1;
  double below = 0;  ///< below_cutoff(cutoff), which the host computes for every device

  std::int64_t bytes_moved() const { return 4 * n; }
  bool operator==(const FillNormal&) const = default;
};

/// Element i of the piece.
constexpr float normal_value(const FillNormal& a, std::int64_t i) {
  const auto e =
      static_cast<std::uint64_t>((a.first_row + i / a.columns) * a.row_elements + a.first_column + i % a.columns);
  const PhiloxBlock block =
      philox({{static_cast<std::uint32_t>(e), static_cast<std::uint32_t>(e >> 32),
               static_cast<std::uint32_t>(a.key.purpose), a.key.stream}},
             static_cast<std::uint32_t>(a.key.seed), static_cast<std::uint32_t>(a.key.seed >> 32));
  const std::uint64_t bits = (std::uint64_t{block.v[1]} << 32) | block.v[0];
  const double uniform = (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;  // as random_uniform
  return static_cast<float>(a.std * normal::quantile(a.below + (1.0 - 2.0 * a.below) * uniform));
}

}  // namespace octet
