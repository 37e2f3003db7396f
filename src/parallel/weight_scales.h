#pragma once

#include <vector>

#include "kernels/table.h"
#include "src/comm/communicator.h"
#include "src/ops/scaling.h"
#include "src/parallel/sharded_parameters.h"

namespace octet {

/// Tensorwise scales of the fp8 weights: a pure function of the fp32 masters. The abs-max of each new weight shard
/// comes from the optimizer's own pass; one MAX all-reduce of all of them gives every scale for the next step. A recipe
/// that remembers has the three values in its own memory, and scales from there once they are known.
class WeightScales {
 public:
  WeightScales(const ParameterList& list, const ShardLayout& layout, Device& device, Stream& stream,
               const Float8Scaling& scaling = dynamic_scaling(), bool power_of_two = false);

  /// The place that parameter i's local abs-max is to raise; null when it is not an fp8 weight.
  float* amax(std::size_t i) const { return at(first_.amax, i); }
  const float* scale(std::size_t i) const { return at(first_.scale, i); }
  const float* inverse(std::size_t i) const { return at(first_.inverse, i, inverse_scale_stride); }

  /// Zeroes all abs-maxes: before each pass that takes them anew.
  void clear();
  /// Abs-maxes from the masters in a pass of its own: at start and after a load. The same bits as the optimizer's.
  void measure(const ShardedBuffer& master, const KernelTable& kernels);
  /// MAX over the ranks that hold pieces of one copy of the weights, then all scales: a weight has the same scale
  /// whatever the layout. Does nothing where scales are known without.
  void update(Communicator& replica, const KernelTable& kernels);
  /// Says whether update() would have ranks exchange abs-maxes.
  bool exchanges(const Communicator& replica) const { return computes() && replica.size() > 1; }
  /// Makes the scales of parameters [begin, end), whose pieces are all here: on the stream on which their abs-maxes
  /// were raised. Neighbours in the list are neighbours among the fp8 weights.
  void update_whole(std::size_t begin, std::size_t end, Stream& stream, const KernelTable& kernels);
  /// The scale of one weight from its gathered bf16 form, the path without fp8 all-gather: nothing to communicate but
  /// for the MAX over the other tensor-parallel parts. Does nothing for a recipe that remembers,
  /// which measures the masters.
  void measure_gathered(std::size_t i, const Tensor& gathered, Communicator& tp, const KernelTable& kernels);

 private:
  bool computes() const { return count_ > 0 && !scaling_.known(); }
  void compute(std::int64_t first, std::int64_t count, Stream& stream, const KernelTable& kernels);
  float* at(float* row, std::size_t i, std::int64_t stride = 1) const {
    return casts_[i] < 0 ? nullptr : row + casts_[i] * stride;
  }

  const ShardLayout& layout_;
  Device& device_;
  Stream& stream_;
  const Float8Scaling& scaling_;
  std::vector<std::int64_t> casts_;  ///< by parameter: its number among the fp8 weights from first_ on, -1: not fp8
  std::int64_t count_ = 0;           ///< from the first to the last that the list holds
  bool power_of_two_;                ///< what is computed here
  Buffer values_;     ///< inverse scales [count, stride], abs-maxes and scales [2, count], unless the recipe has them
  QuantScale first_;  ///< of the list's first fp8 weight; the others' follow in each row
};

}  // namespace octet
