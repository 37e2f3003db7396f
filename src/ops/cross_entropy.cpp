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

void cross_entropy(OpContext& context, const Tensor& logits, const std::int32_t* targets, float* losses,
                   const Tensor& d_logits, float scale) {
  expect_logits(logits, d_logits);
  const Part& part = context.exchange.part();
  const std::int64_t rows = logits.shape[0], vocab = logits.shape[1];
  if (part.count == 1) {
    return context.kernels.cross_entropy(context.stream, {.logits = logits.as<float>(),
                                                          .targets = targets,
                                                          .losses = losses,
                                                          .d_logits = d_logits.data,
                                                          .d_dtype = d_logits.dtype,
                                                          .rows = rows,
                                                          .vocab = vocab,
                                                          .scale = scale});
  }
  const ArenaScope scope(context.scratch);
  auto* stats = context.scratch.allocate<float>(part.count * numbers_of_stats * rows);
  cross_entropy_stats(context, logits, targets, stats);
  context.kernels.cross_entropy_finish(context.stream, {.logits = logits.as<float>(),
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

void cross_entropy_stats(OpContext& context, const Tensor& logits, const std::int32_t* targets, float* stats) {
  expect_logits(logits, {});
  const Part& part = context.exchange.part();
  const ArenaScope scope(context.scratch);
  const std::int64_t rows = logits.shape[0], vocab = logits.shape[1];
  float* mine = part.count == 1 ? stats : context.scratch.allocate<float>(numbers_of_stats * rows);
  context.kernels.cross_entropy_stats(context.stream, {.logits = logits.as<float>(),
                                                       .targets = targets,
                                                       .vocab_begin = part.index * vocab,
                                                       .rows = rows,
                                                       .vocab = vocab,
                                                       .stats = mine});
  if (part.count == 1) return;
  gather_rows(context, Exchange::Gather{{mine, DType::f32, {numbers_of_stats, rows}, nullptr},
                                        {stats, DType::f32, {part.count * numbers_of_stats, rows}, nullptr}});
}

}  // namespace octet
