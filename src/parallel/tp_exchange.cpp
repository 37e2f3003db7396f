#include "src/parallel/tp_exchange.h"

#include "kernels/table.h"
#include "src/comm/watchdog.h"

namespace octet {

TpExchange::TpExchange(Communicator& group) : Exchange({group.rank(), group.size()}), group_(group) {}

void TpExchange::reduce_max(float* amax, std::int64_t n) {
  if (group_.size() == 1) return;
  const UnitScope scope(unit());
  group_.all_reduce(amax, n, DType::f32, ReduceOp::max);
}

void TpExchange::gather_rows(const Tensor& local, const Tensor& whole) {
  const UnitScope scope(unit());
  group_.all_gather(local.data, whole.data, local.elements(), local.dtype);
}

void TpExchange::scatter_rows(const Tensor& partial, const Tensor& output, void* workspace) {
  const UnitScope scope(unit());
  const std::int64_t n = output.elements();
  if (partial.dtype == DType::f32) {
    group_.reduce_scatter(static_cast<const float*>(partial.data), static_cast<float*>(output.data), n);
    return;
  }
  group_.all_to_all(partial.data, workspace, n, partial.dtype);
  kernels_of(group_.stream())
      .sum_parts(group_.stream(), {.parts = workspace,
                                   .dtype = partial.dtype,
                                   .count = group_.size(),
                                   .n = n,
                                   .out = output.data,
                                   .out_dtype = output.dtype});
}

}  // namespace octet
