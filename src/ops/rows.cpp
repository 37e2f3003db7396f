#include "src/ops/rows.h"

namespace octet {
namespace {

int parts(const OpContext& op) {
  return op.exchange.part().count;
}

Tensor whole_of(const OpContext& op, const Tensor& local, void* data) {
  return {data, local.dtype, local.shape.with_rows(local.shape[0] * parts(op)), local.inverse_scale};
}

Tensor take_whole(OpContext& op, const Tensor& local) {
  return whole_of(op, local, op.scratch.allocate(local.bytes() * parts(op)));
}

}  // namespace

Tensor gather_rows(OpContext& op, const Tensor& local) {
  const Exchange::Gather gather = gather_of(op, local, false);
  gather_rows(op, gather);
  return gather.whole;
}

void gather_rows(OpContext& op, const Exchange::Gather& gather) {
  if (parts(op) > 1) op.exchange.gather_rows(gather.local, gather.whole);
}

Exchange::Gather gather_of(OpContext& op, const Tensor& local, bool around) {
  if (parts(op) == 1) return {local, local};
  if (!around) return {local, take_whole(op, local)};
  char* begin = static_cast<char*>(local.data);
  if (begin != nullptr) begin -= op.exchange.part().index * local.bytes();
  return {local, whole_of(op, local, begin)};
}

void gather_rows(OpContext& op, std::span<const Exchange::Gather> gathers, const RowsWork& work) {
  Exchange& exchange = op.exchange;
  const std::int64_t rows = gathers.front().local.shape[0];
  if (!exchange.pipelined()) {
    for (const Exchange::Gather& g : gathers) gather_rows(op, g);
    return work(0, rows * parts(op));
  }
  exchange.start_gather(gathers);
  for (int step = 0; step < parts(op); ++step) {
    exchange.await_arrival(step);
    work(exchange.arriving(step) * rows, rows);
  }
}

void sum_rows(OpContext& op, const Tensor& partial, const Tensor& output, const RowsWork& work) {
  Exchange& exchange = op.exchange;
  if (!exchange.pipelined()) {
    work(0, partial.shape[0]);
    return scatter_rows(op, partial, output);
  }
  const ArenaScope scope(op.scratch);
  void* workspace = op.scratch.allocate(partial.bytes());
  const std::int64_t rows = output.shape[0];
  for (int step = 0; step < parts(op); ++step) {
    work(exchange.leaving(step) * rows, rows);
    exchange.send_part(step, partial, workspace);
  }
  exchange.finish_scatter(partial, output, workspace);
}

Tensor partial_of(OpContext& op, const Tensor& output) {
  return parts(op) == 1 ? output : take_whole(op, output);
}

void scatter_rows(OpContext& op, const Tensor& partial, const Tensor& output) {
  if (parts(op) == 1) return;
  const ArenaScope scope(op.scratch);
  void* workspace = op.scratch.allocate(op.exchange.scatter_workspace(partial));
  op.exchange.scatter_rows(partial, output, workspace);
}

}  // namespace octet
