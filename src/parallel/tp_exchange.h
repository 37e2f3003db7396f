#pragma once

#include <memory>
#include <vector>

#include "src/comm/communicator.h"
#include "src/ops/exchange.h"

namespace octet {

/// The exchange of ops over a tensor-parallel group. Gathers carry the tensor's own bytes (one a value for fp8); sums
/// are formed in fp32: partials of fp32 by a reduce-scatter, in the communicator's order, those of bf16 by an
/// all-to-all, so that bf16 travels, and a sum of our own in rank order.
class TpExchange final : public Exchange {
 public:
  /// `poison`: what is gathered is NaN before (poison.h).
  explicit TpExchange(Communicator& group, bool poison = false) : TpExchange(group, nullptr, poison) {}
  /// Pipelined with `beside`, the same ranks on a stream of their own. Collective where it is not null.
  TpExchange(Communicator& group, Communicator* beside, bool poison);

  void reduce_max(float* amax, std::int64_t n) override;
  void gather_rows(const Tensor& local, const Tensor& whole) override;
  void scatter_rows(const Tensor& partial, const Tensor& output, void* workspace) override;

  /// A step exchanges with two ranks: one sends this rank a part, the other gets one.
  void start_gather(std::span<const Gather> gathers) override;
  void await_arrival(int step) override;
  void send_part(int step, const Tensor& partial, void* workspace) override;
  void finish_scatter(const Tensor& partial, const Tensor& output, void* workspace) override;

 private:
  void poison_around(const Tensor& local, const Tensor& whole) const;
  void sum_parts(const Tensor& partial, const Tensor& output, void* workspace) const;

  Communicator& group_;
  Communicator* beside_;
  bool poison_;
  std::unique_ptr<Event> given_;              ///< what the op's stream has been given when a step begins
  std::vector<std::unique_ptr<Event>> done_;  ///< a step of the other stream
};

}  // namespace octet
