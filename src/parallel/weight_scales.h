#pragma once

#include <vector>

#include "kernels/table.h"
#include "src/comm/communicator.h"
#include "src/parallel/sharded_parameters.h"

namespace octet {

/// Tensorwise scales of the fp8 weights: a pure function of the fp32 masters. The abs-max of each new weight shard
/// comes from the optimizer's own pass; one MAX all-reduce of all of them gives every scale for the next step.
class WeightScales {
 public:
  WeightScales(const ParameterList& list, const ShardLayout& layout, Device& device, Stream& stream,
               bool power_of_two = false);

  /// Bytes of all scales of a model.
  static std::int64_t bytes(const ParameterList& list);

  /// Where parameter i's local abs-max is to be written; null when it is not an fp8 weight.
  float* amax(std::size_t i) const { return at(0, i); }
  const float* scale(std::size_t i) const { return at(1, i); }
  const float* inverse(std::size_t i) const { return at(2, i); }

  /// Abs-maxes from the masters in a pass of its own: at start and after a load. The same bits as the optimizer's.
  void measure(const ShardedBuffer& master, const KernelTable& kernels);
  /// MAX over the ranks that hold pieces of one copy of the weights, then all scales: a weight has the same scale
  /// whatever the layout.
  void update(Communicator& replica, const KernelTable& kernels);
  /// The scale of one weight from its gathered bf16 form, the path without fp8 all-gather: nothing to communicate but
  /// for the MAX over the other tensor-parallel parts.
  void measure_gathered(std::size_t i, const Tensor& gathered, Communicator& tp, const KernelTable& kernels);

 private:
  float* at(int row, std::size_t i) const;

  const ShardLayout& layout_;
  Device& device_;
  Stream& stream_;
  std::vector<int> slots_;  ///< by parameter, -1: not fp8
  std::int64_t count_ = 0;
  bool power_of_two_;
  Buffer values_;  ///< [3, count]: amax, scale, inverse scale
};

}  // namespace octet
