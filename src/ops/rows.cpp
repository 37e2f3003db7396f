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
  if (parts(context) == 1) return local;
  const Tensor whole = take_whole(context, local);
  context.exchange.gather_rows(local, whole);
  return whole;
}

Tensor gather_around(OpContext& context, const Tensor& local) {
  if (parts(context) == 1) return local;
  char* begin = static_cast<char*>(local.data);
  if (begin != nullptr) begin -= context.exchange.part().index * local.bytes();
  const Tensor whole = whole_of(context, local, begin);
  context.exchange.gather_rows(local, whole);
  return whole;
}

Tensor own_rows(const OpContext& context, const Tensor& whole) {
  const std::int64_t rows = whole.shape[0] / parts(context);
  return whole.rows(context.exchange.part().index * rows, rows);
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
