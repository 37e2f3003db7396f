#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "src/base/dtype.h"

namespace octet::commbench {

/// What every rank contributes to a collective: whole numbers from 0 to 254, which all dtypes hold exactly (fp8 as
/// bytes), of which sums over up to 65,536 ranks are exact in fp32 in any order. Element i of rank r is
/// a(i) + w(r, i mod 1021), pseudo-random both, so that shifted, swapped, lost and repeated contributions show.
class Pattern {
 public:
  enum : int { sum = -1, maximum = -2 };  ///< in place of a rank: of all ranks

  Pattern(int ranks, std::uint64_t seed);

  /// Elements [begin, begin + n) of `source` (a rank, sum or maximum) as `dtype`; sum and maximum only as f32.
  void write(void* to, DType dtype, int source, std::int64_t begin, std::int64_t n);

 private:
  static constexpr int period = 1021;
  using Row = std::array<std::int32_t, period>;

  std::int32_t weight(int rank, int place) const;
  const Row& row(int source);

  int ranks_;
  std::uint64_t seed_;
  int cached_source_ = -3;
  Row row_{};
};

}  // namespace octet::commbench
