#pragma once

#include "src/comm/communicator.h"
#include "src/ops/exchange.h"

namespace octet {

/// The exchange of ops over a tensor-parallel group. Gathers carry the tensor's own bytes (one a value for fp8); sums
/// are formed in fp32 in rank order: partials of fp32 by a reduce-scatter, those of bf16 by an all-to-all, so that bf16
/// travels, and a sum of our own.
class TpExchange final : public Exchange {
 public:
  /// `poison`: what is gathered is NaN before (poison.h).
  explicit TpExchange(Communicator& group, bool poison = false);

  void reduce_max(float* amax, std::int64_t n) override;
  void gather_rows(const Tensor& local, const Tensor& whole) override;
  void scatter_rows(const Tensor& partial, const Tensor& output, void* workspace) override;

 private:
  void poison_around(const Tensor& local, const Tensor& whole) const;

  Communicator& group_;
  bool poison_;
};

}  // namespace octet
