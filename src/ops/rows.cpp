#include "src/ops/rows.h"

namespace octet {
namespace {

int parts(const OpContext& context) {
  return context.exchange.part().count;
}

Tensor whole_of(const OpContext& context, const Tensor& local, void* data) {
  return {data, local.dtype, local.shape.with_rows(local.shape[0] * parts(context)), local.inverse_scale};
}

Tensor take_whole(OpContext& context, const Tensor& local) {
  return whole_of(context, local, context.scratch.allocate(local.bytes() * parts(context)));
}

}  // namespace

Tensor gather_rows(OpContext& context, const Tensor& local) {
  const Exchange::Gather gather = gather_of(context, local, false);
  gather_rows(context, gather);
  return gather.whole;
}

void gather_rows(OpContext& context, const Exchange::Gather& gather) {
  if (parts(context) > 1) context.exchange.gather_rows(gather.local, gather.whole);
}

Exchange::Gather gather_of(OpContext& context, const Tensor& local, bool around) {
  if (parts(context) == 1) return {local, local};
  if (!around) return {local, take_whole(context, local)};
  char* begin = static_cast<char*>(local.data);
  if (begin != nullptr) begin -= context.exchange.part().index * local.bytes();
  return {local, whole_of(context, local, begin)};
}

void gather_rows(OpContext& context, std::span<const Exchange::Gather> gathers, const RowsWork& work) {
  Exchange& exchange = context.exchange;
  const std::int64_t rows = gathers.front().local.shape[0];
  if (!exchange.pipelined()) {
    for (const Exchange::Gather& g : gathers) gather_rows(context, g);
    return work(0, rows * parts(context));
  }
  exchange.start_gather(gathers);
  for (int step = 0; step < parts(context); ++step) {
    exchange.await_arrival(step);
    work(exchange.arriving(step) * rows, rows);
  }
}

void sum_rows(OpContext& context, const Tensor& partial, const Tensor& output, const RowsWork& work) {
  Exchange& exchange = context.exchange;
  if (!exchange.pipelined()) {
    work(0, partial.shape[0]);
    return scatter_rows(context, partial, output);
  }
  const ArenaScope scope(context.scratch);
  void* workspace = context.scratch.allocate(partial.bytes());
  const std::int64_t rows = output.shape[0];
  for (int step = 0; step < parts(context); ++step) {
    work(exchange.leaving(step) * rows, rows);
    exchange.send_part(step, partial, workspace);
  }
  exchange.finish_scatter(partial, output, workspace);
}

Tensor partial_of(OpContext& context, const Tensor& output) {
  return parts(context) == 1 ? output : take_whole(context, output);
}

void scatter_rows(OpContext& context, const Tensor& partial, const Tensor& output) {
  if (parts(context) == 1) return;
  const ArenaScope scope(context.scratch);
  void* workspace = context.scratch.allocate(context.exchange.scatter_workspace(partial));
  context.exchange.scatter_rows(partial, output, workspace);
}

}  // namespace octet
