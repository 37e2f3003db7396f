#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "src/tensor/shard.h"

namespace octet {

/// What ops exchange with the other ranks of their tensor-parallel group (OpContext), the only place where an op meets
/// other ranks; src/parallel implements it. The group cuts the tokens of a micro-batch into equal parts, end to end: a
/// rank holds its part of the residual stream ("rows"), and the whole ("all tokens") of what its heads and columns
/// compute with. All calls are on the op's stream, and every rank of the group makes the same ones in the same order.
class Exchange {
 public:
  /// `pipelined`: has the calls in parts, below.
  explicit Exchange(Part part, bool pipelined = false) : part_(part), pipelined_(pipelined && part.count > 1) {}
  virtual ~Exchange() = default;

  /// This rank's part; of count 1 where there is no group.
  const Part& part() const { return part_; }

  /// The unit of the calls that follow, for traces and the watchdog. The text outlives them.
  void set_unit(std::string_view unit) { unit_ = unit; }

  /// MAX over the group of n abs-maxes, in place.
  virtual void reduce_max(float* amax, std::int64_t n) = 0;
  /// whole = the rows of all parts end to end; same dtype and scale. `local` may be its own place in `whole`.
  virtual void gather_rows(const Tensor& local, const Tensor& whole) = 0;
  /// output = this part's rows of the sum of all ranks' partials, formed in fp32 and rounded once: of bf16 partials in
  /// rank order, of fp32 partials in the order of Communicator::reduce_scatter.
  /// `workspace` has scatter_workspace(partial) bytes.
  virtual void scatter_rows(const Tensor& partial, const Tensor& output, void* workspace) = 0;
  /// bf16 partials travel whole and are summed after the exchange, so they take as much memory again.
  std::int64_t scatter_workspace(const Tensor& partial) const {
    return part_.count == 1 || partial.dtype == DType::f32 ? 0 : partial.bytes();
  }

  /// Says whether the exchange has calls in parts (asynchronous tensor parallelism). Each rank's rows then travel on
  /// their own, on a stream of the exchange, while the op's stream computes with the parts that have arrived, or makes
  /// those that have not left yet. The numbers are those of the calls above, but for sums of fp32 partials on a GPU,
  /// whose order may differ. One gather or scatter at a time, all its steps in order.
  bool pipelined() const { return pipelined_; }
  /// Whose rows are there in step `step` of part().count: one's own first.
  int arriving(int step) const { return (part_.index - step + part_.count) % part_.count; }
  /// Whose rows of a partial sum leave after step `step`: one's own, which stay, last.
  int leaving(int step) const { return (part_.index + step + 1) % part_.count; }

  struct Gather {
    Tensor local, whole;  ///< as in gather_rows
  };
  virtual void start_gather(std::span<const Gather> gathers) = 0;
  /// What follows on the op's stream finds the rows of arriving(step) in their place.
  virtual void await_arrival(int step) = 0;
  /// The op's stream has been given what writes the rows of leaving(step).
  /// `workspace` has as many bytes as the partial sum.
  virtual void send_part(int step, const Tensor& partial, void* workspace) = 0;
  /// To be called after the last step: output is then as in scatter_rows.
  virtual void finish_scatter(const Tensor& partial, const Tensor& output, void* workspace) = 0;

 protected:
  std::string_view unit() const { return unit_; }

 private:
  Part part_;
  bool pipelined_;
  std::string_view unit_;
};

/// No group, or (with more than one part) the dry run of a plan: nothing is exchanged.
class NoExchange : public Exchange {
 public:
  explicit NoExchange(Part part = {}, bool pipelined = false) : Exchange(part, pipelined) {}
  void reduce_max(float*, std::int64_t) override {}
  void gather_rows(const Tensor&, const Tensor&) override {}
  void scatter_rows(const Tensor&, const Tensor&, void*) override {}
  void start_gather(std::span<const Gather>) override {}
  void await_arrival(int) override {}
  void send_part(int, const Tensor&, void*) override {}
  void finish_scatter(const Tensor&, const Tensor&, void*) override {}
};

}  // namespace octet
