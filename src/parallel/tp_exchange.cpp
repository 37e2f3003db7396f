#include "src/parallel/tp_exchange.h"

#include "kernels/table.h"
#include "src/parallel/poison.h"
#include "src/profile/scopes.h"

namespace octet {

TpExchange::TpExchange(Communicator& group, Communicator* beside, bool poison)
    : Exchange({group.rank(), group.size()}, beside != nullptr), group_(group), beside_(beside), poison_(poison) {
  if (beside == nullptr) return;
  Device& device = group.stream().device();
  given_ = device.make_event();
  for (int step = 0; step < group.size(); ++step) done_.push_back(device.make_event());
}

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
  sum_parts(partial, output, workspace);
}

void TpExchange::sum_parts(const Tensor& partial, const Tensor& output, void* workspace) const {
  kernels_of(group_.stream())
      .sum_parts(group_.stream(), {.parts = workspace,
                                   .dtype = partial.dtype,
                                   .count = group_.size(),
                                   .n = output.elements(),
                                   .out = output.data,
                                   .out_dtype = output.dtype});
}

void TpExchange::start_gather(std::span<const Gather> gathers) {
  const UnitScope scope(unit());
  Stream &stream = group_.stream(), &beside = beside_->stream();
  for (const Gather& g : gathers) {
    if (poison_) poison_around(g.local, g.whole);
    char* own = static_cast<char*>(g.whole.data) + part().index * g.local.bytes();
    if (own != g.local.data) stream.device().copy(own, g.local.data, g.local.bytes(), stream);
  }
  stream.record(*given_);  // it has made `local`, and no longer uses what `whole` was before
  beside.wait(*given_);
  for (int step = 1; step < part().count; ++step) {
    const int from = arriving(step), to = (part().index + step) % part().count;
    beside_->group_begin();
    for (const Gather& g : gathers) {
      const Tensor place = g.whole.rows(from * g.local.shape[0], g.local.shape[0]);
      beside_->send(g.local.data, g.local.elements(), g.local.dtype, to);
      beside_->recv(place.data, place.elements(), place.dtype, from);
    }
    beside_->group_end();
    beside.record(*done_[static_cast<std::size_t>(step)]);
  }
}

void TpExchange::await_arrival(int step) {
  if (step > 0) group_.stream().wait(*done_[static_cast<std::size_t>(step)]);
}

void TpExchange::send_part(int step, const Tensor& partial, void* workspace) {
  const int to = leaving(step), from = (part().index - step - 1 + part().count) % part().count;
  if (to == part().index) return;
  const UnitScope scope(unit());
  const std::int64_t rows = partial.shape[0] / part().count;
  const Tensor leaves = partial.rows(to * rows, rows);
  group_.stream().record(*given_);
  beside_->stream().wait(*given_);
  beside_->group_begin();
  beside_->send(leaves.data, leaves.elements(), leaves.dtype, to);
  beside_->recv(static_cast<char*>(workspace) + from * leaves.bytes(), leaves.elements(), leaves.dtype, from);
  beside_->group_end();
  beside_->stream().record(*done_[static_cast<std::size_t>(step)]);
}

void TpExchange::finish_scatter(const Tensor& partial, const Tensor& output, void* workspace) {
  Stream& stream = group_.stream();
  const Tensor own = partial.rows(part().index * output.shape[0], output.shape[0]);
  char* place = static_cast<char*>(workspace) + part().index * own.bytes();
  stream.device().copy(place, own.data, own.bytes(), stream);
  stream.wait(*done_[static_cast<std::size_t>(part().count - 2)]);  // the last that left, after all others
  sum_parts(partial, output, workspace);
}

}  // namespace octet
