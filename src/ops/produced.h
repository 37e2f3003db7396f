#pragma once

#include "kernels/stats.h"
#include "src/tensor/tensor.h"

namespace octet {

/// A tensor that an op writes, and what its kernel leaves of it in the same pass.
struct Produced {
  Tensor x;            ///< may have no data where only its `float8` form or its `stats` are wanted
  StatsOut stats{};    ///< of x
  Float8Out float8{};  ///< of x

  /// The same where nobody reads x beside a float8 form of it.
  Produced float8_alone() const {
    Produced p = *this;
    if (float8.wanted()) p.x.data = nullptr;
    return p;
  }
  /// Its statistics, where a later call of the op writes x.
  Produced stats_alone() const {
    Produced p{x, stats};
    p.x.data = nullptr;
    return p;
  }
};

}  // namespace octet
