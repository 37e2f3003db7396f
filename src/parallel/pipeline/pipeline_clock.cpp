#include "src/parallel/pipeline/pipeline_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "src/base/error.h"

namespace octet {
namespace {

/// Names a pass of the whole pipeline.
using Key = std::tuple<int, PassKind, int, int>;
Key key_of(int rank, const PipelinePass& pass) {
  return {rank, pass.kind, pass.micro_batch, pass.chunk};
}

PassKind gradient_kind(const PipelineShape& shape) {
  return shape.splits_backward() ? PassKind::input_gradient : PassKind::backward;
}

class Clock {
 public:
  Clock(const PipelineShape& shape, const PipelinePasses& passes, const std::vector<StageTimes>& stages,
        double transfer)
      : shape_(shape),
        passes_(passes),
        stages_(stages),
        transfer_(transfer),
        next_(passes.size()),
        now_(passes.size()) {
    for (const auto& of_rank : passes) times_.spans.emplace_back(of_rank.size());
  }

  /// Says whether all passes came to their end.
  bool run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t rank = 0; rank < passes_.size(); ++rank) {
        while (step(rank)) moved = true;
      }
    }
    return !first_stuck();
  }
  std::optional<std::size_t> first_stuck() const {
    for (std::size_t rank = 0; rank < passes_.size(); ++rank) {
      if (next_[rank] < passes_[rank].size()) return rank;
    }
    return std::nullopt;
  }
  std::string why_stuck(std::size_t rank) const {
    const PipelinePass& pass = passes_[rank][next_[rank]];
    const auto producer = producer_of(shape_, static_cast<int>(rank), pass);
    return fmt::format("rank {} waits at {} for {} of rank {}", rank, text_of(pass, shape_.chunks),
                       text_of(producer->pass, shape_.chunks), producer->rank);
  }
  PipelineTimes take() { return std::move(times_); }

 private:
  bool step(std::size_t rank) {
    if (next_[rank] == passes_[rank].size()) return false;
    const PipelinePass& pass = passes_[rank][next_[rank]];
    const int r = static_cast<int>(rank);
    double begin = now_[rank];
    if (const auto producer = producer_of(shape_, r, pass)) {
      const auto made = ends_.find(key_of(producer->rank, producer->pass));
      if (made == ends_.end()) return false;
      begin = std::max(begin, made->second + (producer->rank == r ? 0 : transfer_));
    }
    const auto stage = static_cast<std::size_t>(shape_.stage(r, pass.chunk));
    const double end = begin + stages_[stages_.size() == 1 ? 0 : stage].of(pass.kind);
    times_.spans[rank][next_[rank]++] = {begin, end};
    times_.end = std::max(times_.end, end);
    now_[rank] = end;
    ends_[key_of(r, pass)] = end;
    return true;
  }

  const PipelineShape& shape_;
  const PipelinePasses& passes_;
  const std::vector<StageTimes>& stages_;
  double transfer_;
  std::vector<std::size_t> next_;
  std::vector<double> now_;
  std::map<Key, double> ends_;
  PipelineTimes times_;
};

}  // namespace

double StageTimes::of(PassKind kind) const {
  switch (kind) {
    case PassKind::forward:
      return forward;
    case PassKind::backward:
      return input_gradient + weight_gradient;
    case PassKind::input_gradient:
      return input_gradient;
    case PassKind::weight_gradient:
      return weight_gradient;
  }
  throw internal_error("parallel", "no such pass");
}

std::optional<Producer> producer_of(const PipelineShape& shape, int rank, const PipelinePass& pass) {
  const int stage = shape.stage(rank, pass.chunk);
  const bool forward = pass.kind == PassKind::forward;
  const int other = forward ? stage - 1 : stage + 1;
  if (pass.kind == PassKind::weight_gradient || other < 0 || other == shape.stages()) return std::nullopt;
  return Producer{shape.rank_of(other),
                  {forward ? pass.kind : gradient_kind(shape), pass.micro_batch, shape.chunk_of(other)}};
}

double PipelineTimes::waiting_share(int rank) const {
  double busy = 0;
  for (const PassSpan& span : spans[static_cast<std::size_t>(rank)]) busy += span.end - span.begin;
  return 1 - busy / end;
}

double PipelineTimes::bubble_share() const {
  double sum = 0;
  for (std::size_t rank = 0; rank < spans.size(); ++rank) sum += waiting_share(static_cast<int>(rank));
  return sum / static_cast<double>(spans.size());
}

PipelineTimes run_clock(const PipelineShape& shape, const PipelinePasses& passes, const std::vector<StageTimes>& stages,
                        double transfer, std::string* stuck) {
  Clock clock(shape, passes, stages, transfer);
  if (!clock.run()) {
    const std::string why = clock.why_stuck(*clock.first_stuck());
    if (stuck == nullptr) throw internal_error("parallel", "the pipeline never ends: {}", why);
    *stuck = why;
  }
  return clock.take();
}

}  // namespace octet
