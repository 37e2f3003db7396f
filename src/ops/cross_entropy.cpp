#include "src/ops/cross_entropy.h"

#include "src/ops/rows.h"

namespace octet {

void cross_entropy(OpContext& context, const CrossEntropy& args) {
  const Part& part = context.exchange.part();
  if (part.count == 1) return context.kernels.cross_entropy(context.stream, args);
  const ArenaScope scope(context.scratch);
  const std::int64_t begin = part.index * args.vocab;
  auto* stats = context.scratch.allocate<float>(part.count * numbers_of_stats * args.rows);
  cross_entropy_stats(
      context,
      {.logits = args.logits, .targets = args.targets, .rows = args.rows, .vocab = args.vocab, .stats = stats});
  context.kernels.cross_entropy_finish(context.stream, {.logits = args.logits,
                                                        .targets = args.targets,
                                                        .vocab_begin = begin,
                                                        .rows = args.rows,
                                                        .vocab = args.vocab,
                                                        .stats = stats,
                                                        .parts = part.count,
                                                        .losses = args.losses,
                                                        .d_logits = args.d_logits,
                                                        .d_dtype = args.d_dtype,
                                                        .scale = args.scale});
}

void cross_entropy_stats(OpContext& context, const CrossEntropyStats& args) {
  const Part& part = context.exchange.part();
  const ArenaScope scope(context.scratch);
  CrossEntropyStats mine = args;
  mine.vocab_begin = part.index * args.vocab;
  if (part.count > 1) mine.stats = context.scratch.allocate<float>(numbers_of_stats * args.rows);
  context.kernels.cross_entropy_stats(context.stream, mine);
  if (part.count == 1) return;
  gather_rows(context, Exchange::Gather{{mine.stats, DType::f32, {numbers_of_stats, args.rows}, nullptr},
                                        {args.stats, DType::f32, {part.count * numbers_of_stats, args.rows}, nullptr}});
}

}  // namespace octet
