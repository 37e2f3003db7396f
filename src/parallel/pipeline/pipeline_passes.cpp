#include "src/parallel/pipeline/pipeline_passes.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/error.h"

namespace octet {
namespace {

using RankPasses = std::vector<PipelinePass>;

/// Forwards first, as many as bring the last stage its first micro-batch; then a backward after each forward.
RankPasses one_f_one_b(const PipelineShape& s, int rank) {
  RankPasses passes;
  const int ahead = std::min(s.ranks - 1 - rank, s.micro_batches);
  for (int f = 0; f < ahead; ++f) passes.push_back({PassKind::forward, f});
  for (int b = 0; b < s.micro_batches; ++b) {
    if (ahead + b < s.micro_batches) passes.push_back({PassKind::forward, ahead + b});
    passes.push_back({PassKind::backward, b});
  }
  return passes;
}

RankPasses in_groups(const PipelineShape& s, PassKind kind) {
  const int group = group_size(s);
  RankPasses passes;
  for (int first = 0; first < s.micro_batches; first += group) {
    const int end = std::min(first + group, s.micro_batches);
    for (int i = 0; i < s.chunks; ++i) {
      const int chunk = kind == PassKind::forward ? i : s.chunks - 1 - i;
      for (int m = first; m < end; ++m) passes.push_back({kind, m, chunk});
    }
  }
  return passes;
}

RankPasses interleaved(const PipelineShape& s, int rank) {
  const int group = group_size(s);
  const RankPasses forwards = in_groups(s, PassKind::forward);
  const RankPasses backwards = in_groups(s, PassKind::backward);
  const auto all = forwards.size();
  const auto ahead = std::min(static_cast<std::size_t>(2 * (s.ranks - 1 - rank) + (s.chunks - 1) * group), all);
  RankPasses passes(forwards.begin(), forwards.begin() + static_cast<std::ptrdiff_t>(ahead));
  for (std::size_t b = 0; b < all; ++b) {
    if (ahead + b < all) passes.push_back(forwards[ahead + b]);
    passes.push_back(backwards[b]);
  }
  return passes;
}

/// As 1F1B, but weight gradients lag ranks - 1 micro-batches behind the newest forward: so every rank keeps as many
/// micro-batches alive as the first rank of 1F1B. Once there are no forwards left, a weight gradient follows each input
/// gradient, and the others come at the end.
RankPasses zb_h1(const PipelineShape& s, int rank) {
  RankPasses passes;
  const int ahead = std::min(s.ranks - 1 - rank, s.micro_batches);
  for (int f = 0; f < ahead; ++f) passes.push_back({PassKind::forward, f});
  int weights = 0;
  for (int b = 0; b < s.micro_batches; ++b) {
    const int f = ahead + b;
    if (f < s.micro_batches) passes.push_back({PassKind::forward, f});
    passes.push_back({PassKind::input_gradient, b});
    if (f >= s.ranks - 1 && weights <= b) passes.push_back({PassKind::weight_gradient, weights++});
  }
  while (weights < s.micro_batches) passes.push_back({PassKind::weight_gradient, weights++});
  return passes;
}

}  // namespace

std::string text_of(const PipelinePass& pass, int chunks) {
  if (chunks == 1) return fmt::format("{} {}", pass.kind, pass.micro_batch);
  return fmt::format("{} {}.{}", pass.kind, pass.micro_batch, pass.chunk);
}

int group_size(const PipelineShape& s) {
  const auto fits = [&](int n) { return s.micro_batches % n == 0 || s.micro_batches % n >= s.ranks; };
  int n = std::min(s.ranks, s.micro_batches);
  while (!fits(n)) ++n;  // at the latest with all in one group
  return n;
}

std::optional<PipelineObstacle> obstacle_to(const PipelineShape& s) {
  if (s.order != PipelineOrder::interleaved && s.chunks > 1) {
    return {{"parallel.pp_chunks", std::to_string(s.chunks),
             fmt::format("{} has one stage a rank; expected pp_schedule interleaved, or pp_chunks 1", s.order)}};
  }
  if (s.order == PipelineOrder::interleaved && s.chunks == 1) {
    return {{"parallel.pp_schedule", "interleaved",
             "with one stage a rank that is 1f1b; expected pp_chunks of 2 or more, or pp_schedule 1f1b"}};
  }
  if (s.ranks == 1 && s.chunks > 1) {
    return {{"parallel.pp_chunks", std::to_string(s.chunks), "with parallel.pp = 1 there is no pipeline; expected 1"}};
  }
  if (s.micro_batches < s.ranks) {
    return {{"parallel.pp", std::to_string(s.ranks),
             fmt::format("a step has {} micro-batch{}, and ranks would wait most of the time; expected at least as "
                         "many micro-batches as parallel.pp: raise train.global_batch, or lower train.micro_batch or "
                         "parallel.pp",
                         s.micro_batches, s.micro_batches == 1 ? "" : "es")}};
  }
  return std::nullopt;
}

PipelinePasses make_passes(const PipelineShape& shape) {
  if (const auto obstacle = obstacle_to(shape)) throw usage_error("parallel", "{}", obstacle->text());
  PipelinePasses passes;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    switch (shape.order) {
      case PipelineOrder::one_f_one_b:
        passes.push_back(one_f_one_b(shape, rank));
        break;
      case PipelineOrder::interleaved:
        passes.push_back(interleaved(shape, rank));
        break;
      case PipelineOrder::zb_h1:
        passes.push_back(zb_h1(shape, rank));
        break;
    }
  }
  return passes;
}

PipelinePasses make_forward_passes(const PipelineShape& shape) {
  return PipelinePasses(static_cast<std::size_t>(shape.ranks), in_groups(shape, PassKind::forward));
}

}  // namespace octet
