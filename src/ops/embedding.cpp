#include "src/ops/embedding.h"

#include "src/ops/expect.h"

namespace octet {

void embedding_forward(OpContext& op, const std::int32_t* ids, const Tensor& table, std::int64_t begin,
                       const Tensor& out) {
  const Expect expect{"embedding"};
  expect.matrix("table", table);
  expect.is("out", out, table.dtype, table.shape.with_rows(out.shape[0]));
  op.kernels.embedding_forward(op.stream, {.tokens = ids,
                                           .table = table.data,
                                           .out = out.data,
                                           .dtype = table.dtype,
                                           .n = out.shape[0],
                                           .vocab = table.shape[0],
                                           .dim = table.shape[1],
                                           .vocab_begin = begin});
}

void embedding_backward(OpContext& op, const std::int32_t* ids, const Tensor& d_out, std::int64_t begin,
                        const GradientTarget& d_table) {
  const Tensor& table = d_table.tensor;
  const Expect expect{"embedding backward"};
  expect.matrix("d_out", d_out);
  expect.is("d_table", table, DType::f32, d_out.shape.with_rows(table.shape[0]));
  const ArenaScope scope(op.scratch);
  EmbeddingBackward args{.tokens = ids,
                         .d_out = d_out.data,
                         .dtype = d_out.dtype,
                         .d_table = table.as<float>(),
                         .accumulate = d_table.accumulate,
                         .n = d_out.shape[0],
                         .vocab = table.shape[0],
                         .dim = table.shape[1],
                         .vocab_begin = begin};
  args.workspace = op.scratch.allocate(op.kernels.embedding_backward_workspace(args));
  op.kernels.embedding_backward(op.stream, args);
}

}  // namespace octet
