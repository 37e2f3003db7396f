#include "src/ops/cross_entropy.h"

#include "src/ops/expect.h"
#include "src/ops/rows.h"

namespace octet {
namespace {

void expect_logits(const Tensor& logits, const Tensor& d_logits) {
  const Expect expect{"cross-entropy"};
  expect.matrix("logits", logits);
  expect.is("logits", logits, DType::f32, logits.shape);
  if (d_logits.shape.rank() == 0) return;
  expect.matrix("d_logits", d_logits);
  expect.is("d_logits", d_logits, d_logits.dtype, logits.shape);
}

}  // namespace

void cross_entropy(OpContext& op, const Tensor& logits, const std::int32_t* targets, float* losses,
                   const Tensor& d_logits, float scale) {
  expect_logits(logits, d_logits);
  const Part& part = op.exchange.part();
  const std::int64_t rows = logits.shape[0], vocab = logits.shape[1];
  if (part.count == 1) {
    return op.kernels.cross_entropy(op.stream, {.logits = logits.as<float>(),
                                                .targets = targets,
                                                .losses = losses,
                                                .d_logits = d_logits.data,
                                                .d_dtype = d_logits.dtype,
                                                .rows = rows,
                                                .vocab = vocab,
                                                .scale = scale});
  }
  const ArenaScope scope(op.scratch);
  auto* stats = op.scratch.allocate<float>(part.count * numbers_of_stats * rows);
  cross_entropy_stats(op, logits, targets, stats);
  op.kernels.cross_entropy_finish(op.stream, {.logits = logits.as<float>(),
                                              .targets = targets,
                                              .vocab_begin = part.index * vocab,
                                              .rows = rows,
                                              .vocab = vocab,
                                              .stats = stats,
                                              .parts = part.count,
                                              .losses = losses,
                                              .d_logits = d_logits.data,
                                              .d_dtype = d_logits.dtype,
                                              .scale = scale});
}

void cross_entropy_stats(OpContext& op, const Tensor& logits, const std::int32_t* targets, float* stats) {
  expect_logits(logits, {});
  const Part& part = op.exchange.part();
  const ArenaScope scope(op.scratch);
  const std::int64_t rows = logits.shape[0], vocab = logits.shape[1];
  float* mine = part.count == 1 ? stats : op.scratch.allocate<float>(numbers_of_stats * rows);
  op.kernels.cross_entropy_stats(op.stream, {.logits = logits.as<float>(),
                                             .targets = targets,
                                             .vocab_begin = part.index * vocab,
                                             .rows = rows,
                                             .vocab = vocab,
                                             .stats = mine});
  if (part.count == 1) return;
  gather_rows(op, Exchange::Gather{{mine, DType::f32, {numbers_of_stats, rows}, nullptr},
                                   {stats, DType::f32, {part.count * numbers_of_stats, rows}, nullptr}});
}

}  // namespace octet
