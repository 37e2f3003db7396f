#pragma once

#include <cstdint>
#include <string_view>

#include "src/tensor/shard.h"

namespace octet {

/// What ops exchange with the other ranks of their tensor-parallel group, the only place where an op meets other ranks;
/// src/parallel implements it. The group cuts the tokens of a micro-batch into equal parts, end to end: a rank holds
/// its part of the residual stream ("rows"), and the whole ("all tokens") of what its heads and columns compute with.
/// All calls are on the op's stream, and every rank of the group makes the same ones in the same order.
class Exchange {
 public:
  explicit Exchange(Part part) : part_(part) {}
  virtual ~Exchange() = default;

  /// This rank's part; of count 1 without tensor parallelism.
  const Part& part() const { return part_; }

  /// The unit of the calls that follow, for traces and the watchdog. The text outlives them.
  void set_unit(std::string_view unit) { unit_ = unit; }

  /// MAX over the group of n abs-maxes, in place.
  virtual void reduce_max(float* amax, std::int64_t n) = 0;
  /// whole = the rows of all parts end to end; same dtype and scale. `local` may be its own place in `whole`.
  virtual void gather_rows(const Tensor& local, const Tensor& whole) = 0;
  /// output = this part's rows of the sum of all ranks' partials, formed in fp32 in rank order and rounded once.
  /// `workspace` has scatter_workspace(partial) bytes.
  virtual void scatter_rows(const Tensor& partial, const Tensor& output, void* workspace) = 0;
  /// bf16 partials travel whole and are summed after the exchange, so they take as much memory again.
  std::int64_t scatter_workspace(const Tensor& partial) const {
    return part_.count == 1 || partial.dtype == DType::f32 ? 0 : partial.bytes();
  }

 protected:
  std::string_view unit() const { return unit_; }

 private:
  Part part_;
  std::string_view unit_;
};

/// No group, or (with more than one part) the dry run of a plan: nothing is exchanged.
class NoExchange final : public Exchange {
 public:
  explicit NoExchange(Part part = {}) : Exchange(part) {}
  void reduce_max(float*, std::int64_t) override {}
  void gather_rows(const Tensor&, const Tensor&) override {}
  void scatter_rows(const Tensor&, const Tensor&, void*) override {}
};

}  // namespace octet
