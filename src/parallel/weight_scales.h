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
///
/// An update may write fp8 weights itself: by the scales that are known before it, or by predictions, which recast()
/// holds against the scales that it leads to (kernels/predicted_scales.h).
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
  /// Says whether an update can write fp8 weights: not where scales are only known when ranks have exchanged abs-maxes.
  bool known_to_update(const Communicator& replica) const { return !computes() || (predicts() && replica.size() == 1); }
  /// Says whether an update writes them by predictions, which are then to be held against the scales.
  bool predicts() const { return computes() && !values_.empty(); }
  /// What an update is to do that leaves parameter i, a whole fp8 weight, at y.
  Float8Out float8_of_update(std::size_t i, void* y) const {
    return {.y = y, .format = DType::e4m3, .scale = predicts() ? predicted(i) : scale(i)};
  }
  ScalePrediction prediction(std::size_t i) const {
    return predicts() ? ScalePrediction{leader(i), predicted(i), power_of_two_} : ScalePrediction{};
  }
  /// Casts parameter i again from its master, of n elements, into y, where an update has left it by a scale that is not
  /// the right one now.
  void recast(std::size_t i, const float* master, std::int64_t n, void* y, Stream& stream, const KernelTable& kernels);
  /// Makes the scales of parameters [begin, end), whose pieces are all here: on the stream on which their abs-maxes
  /// were raised. Neighbours in the list are neighbours among the fp8 weights.
  void update_whole(std::size_t begin, std::size_t end, Stream& stream, const KernelTable& kernels);
  /// The scale of one weight from its gathered bf16 form, the path without fp8 all-gather: nothing to communicate but
  /// for the MAX over the other tensor-parallel parts. Does nothing for a recipe that remembers, which measures the
  /// masters.
  void measure_gathered(std::size_t i, const Tensor& gathered, Communicator& tp, const KernelTable& kernels);

 private:
  bool computes() const { return count_ > 0 && !scaling_.known(); }
  void compute(std::int64_t first, std::int64_t count, Stream& stream, const KernelTable& kernels);
  std::int64_t* leader(std::size_t i) const { return leaders_ + casts_[i]; }
  float* predicted(std::size_t i) const { return at(predicted_, i); }
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
  /// Unless the recipe has them: inverse scales [count, stride], leaders [count], abs-maxes, scales and predicted ones
  /// [3, count]. Any element may be the leader that is tried first.
  Buffer values_;
  QuantScale first_;  ///< of the list's first fp8 weight; the others' follow in each row
  std::int64_t* leaders_ = nullptr;
  float* predicted_ = nullptr;
};

}  // namespace octet
