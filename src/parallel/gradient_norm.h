#pragma once

#include <vector>

#include "kernels/table.h"
#include "src/comm/communicator.h"
#include "src/parallel/sharded_parameters.h"

namespace octet {

/// Global L2 norm of the sharded gradients and the clip factor, both on the device. A norm that is not finite sets
/// the skip flag, which stops every later optimizer step.
class GradientNorm {
 public:
  /// `counts_first`: false where another stage has the list's first parameter too, a tied embedding, and counts it.
  GradientNorm(const ParameterList& list, bool counts_first, Device& device, Stream& stream);

  /// `model_copy` is the group that holds one copy of the gradients between them, and `other_copies` the ranks that
  /// hold the same pieces of the other copies. All of them get one norm, also where the sums of two replicas come in
  /// another order, as NCCL's may: the largest. A parameter that every rank of a tensor-parallel group has whole counts
  /// on the first of them.
  void compute(const ShardedBuffer& gradients, Communicator& model_copy, Communicator& other_copies, float max_norm);

  const float* norm() const { return values_.as<float>(); }
  const float* factor() const { return values_.as<float>() + 1; }
  const std::uint32_t* skip() const { return reinterpret_cast<const std::uint32_t*>(values_.as<float>() + 2); }
  /// [ids of the model] non-finite elements of this rank's pieces, added up since reset.
  std::uint32_t* non_finite() const { return counters_.as<std::uint32_t>(); }
  void reset_counters() { device_.zero(counters_.data(), counters_.bytes(), stream_); }

 private:
  Device& device_;
  Stream& stream_;
  const KernelTable& kernels_;
  std::int64_t parameters_;
  std::vector<bool> counted_;     ///< [parameters] on this rank
  Buffer values_;                 ///< norm, clip factor, skip flag, sum of squares
  Buffer sums_;                   ///< [parameters] sums of squares
  std::vector<std::size_t> ids_;  ///< [parameters]
  Buffer counters_;               ///< [ids of the model]
  Buffer workspace_;
};

}  // namespace octet
