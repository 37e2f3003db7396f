#include "src/ops/cross_entropy.h"

#include "src/ops/rows.h"

namespace octet {

void cross_entropy(OpContext& context, const CrossEntropy& args) {
  const Part& part = context.exchange.part();
  if (part.count == 1) return context.kernels.cross_entropy(context.stream, args);
  const ArenaScope scope(context.scratch);
  const std::int64_t begin = part.index * args.vocab;
  constexpr std::int64_t numbers = 3;
  const Tensor stats{context.scratch.allocate<float>(numbers * args.rows), DType::f32, {numbers, args.rows}, nullptr};
  context.kernels.cross_entropy_stats(context.stream, {.logits = args.logits,
                                                       .targets = args.targets,
                                                       .vocab_begin = begin,
                                                       .rows = args.rows,
                                                       .vocab = args.vocab,
                                                       .stats = static_cast<float*>(stats.data)});
  const Tensor all = gather_rows(context, stats);
  context.kernels.cross_entropy_finish(context.stream, {.logits = args.logits,
                                                        .targets = args.targets,
                                                        .vocab_begin = begin,
                                                        .rows = args.rows,
                                                        .vocab = args.vocab,
                                                        .stats = static_cast<const float*>(all.data),
                                                        .parts = part.count,
                                                        .losses = args.losses,
                                                        .d_logits = args.d_logits,
                                                        .d_dtype = args.d_dtype,
                                                        .scale = args.scale});
}

}  // namespace octet
