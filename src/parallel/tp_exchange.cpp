#include "src/parallel/tp_exchange.h"

#include "kernels/table.h"
#include "src/parallel/poison.h"
#include "src/profile/scopes.h"

namespace octet {

TpExchange::TpExchange(Communicator& group, bool poison)
    : Exchange({group.rank(), group.size()}), group_(group), poison_(poison) {}

void TpExchange::reduce_max(float* amax, std::int64_t n) {
  if (group_.size() == 1) return;
  const UnitScope scope(unit());
  group_.all_reduce(amax, n, DType::f32, ReduceOp::max);
}

void TpExchange::gather_rows(const Tensor& local, const Tensor& whole) {
  const UnitScope scope(unit());
  if (poison_) poison_around(local, whole);
  group_.all_gather(local.data, whole.data, local.elements(), local.dtype);
}

/// `local` may lie in its place of the whole.
void TpExchange::poison_around(const Tensor& local, const Tensor& whole) const {
  Stream& stream = group_.stream();
  char* const begin = static_cast<char*>(whole.data);
  const std::int64_t mine = part().index * local.bytes(), after = mine + local.bytes();
  poison(stream.device(), stream, begin, mine);
  poison(stream.device(), stream, begin + after, whole.bytes() - after);
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
