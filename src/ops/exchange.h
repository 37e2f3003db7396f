#pragma once

#include <cstdint>

#include "src/tensor/tensor.h"

namespace octet {

/// What a linear exchanges with the other ranks of its tensor-parallel group. Without tensor parallelism nothing is
/// exchanged (NoExchange). It is the only place where an op meets other ranks; src/parallel implements it.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// MAX over the group of n abs-maxes, in place, on the op's stream.
  virtual void reduce_max(float* amax, std::int64_t n) = 0;
  /// The whole input of a column-parallel linear from this rank's part of the sequence (same dtype and scale).
  virtual Tensor gather_input(const Tensor& local) = 0;
  /// Sums the partial outputs of a row-parallel linear and leaves this rank's part of the sequence in `output`.
  virtual void scatter_output(const Tensor& partial, const Tensor& output) = 0;
};

class NoExchange final : public Exchange {
 public:
  void reduce_max(float*, std::int64_t) override {}
  Tensor gather_input(const Tensor& local) override { return local; }
  void scatter_output(const Tensor&, const Tensor&) override {}
};

}  // namespace octet
