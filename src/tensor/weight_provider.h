#pragma once

#include <span>

#include "src/tensor/tensor.h"

namespace octet {

/// The model gets its weights from here. The model asks, the provider answers; sharding, casts, gathers, prefetch and
/// resharding are behind this interface. Units are numbered in forward order (src/model/parameters.h).
class WeightProvider {
 public:
  virtual ~WeightProvider() = default;

  /// Announces the units in the order in which `gather` will be called, so that the next one can be prefetched.
  virtual void begin_pass(std::span<const int> order) = 0;
  /// The unit's whole weights, in the order of its parameters, ready for use on the compute stream until release.
  /// fp8 weights carry their inverse scale.
  virtual std::span<const Tensor> gather(int unit) = 0;
  /// Transposed copies of the unit's fp8 weights, which some kernels read in backward
  /// (KernelTable::float8_gemm_k_major), in the order of its parameters and of rank 0 for those that are not fp8; or
  /// none, where the provider keeps no such copies. Of a unit that is gathered, and as long as it is.
  virtual std::span<const Tensor> transposed(int) { return {}; }
  virtual void release(int unit) = 0;
};

}  // namespace octet
