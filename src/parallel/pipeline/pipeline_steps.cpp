#include "src/parallel/pipeline/pipeline_steps.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "src/parallel/pipeline/pipeline_clock.h"

namespace octet {
namespace {

/// Numbers that are given out from 0 on and come back.
class FreeNumbers {
 public:
  int take() {
    const auto free = std::find(taken_.begin(), taken_.end(), false);
    if (free != taken_.end()) {
      *free = true;
      return static_cast<int>(free - taken_.begin());
    }
    taken_.push_back(true);
    return static_cast<int>(taken_.size()) - 1;
  }
  void give_back(int number) { taken_[static_cast<std::size_t>(number)] = false; }

 private:
  std::vector<bool> taken_;
};

struct TimedStep {
  double time;  ///< at which the message is made
  int stage;    ///< that makes it
  PipelineStep step;
  std::size_t before;  ///< the index of the pass that it comes before

  auto order() const { return std::tuple(before, time, stage, step.pass.micro_batch); }
};

/// Where each pass stands among those of its rank. Shapes of large runs have hundreds of thousands of passes, so that
/// none is looked for in a list.
class PassPlaces {
 public:
  PassPlaces(const PipelineShape& shape, const PipelinePasses& passes) : shape_(shape), places_(passes.size()) {
    for (std::size_t r = 0; r < passes.size(); ++r) {
      places_[r].resize(names_of(PassKind{}).size() * index(shape.chunks) * index(shape.micro_batches));
      for (std::size_t i = 0; i < passes[r].size(); ++i) places_[r].at(key(passes[r][i])) = i;
    }
  }
  std::size_t of(int rank, const PipelinePass& pass) const { return places_[index(rank)].at(key(pass)); }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  std::size_t key(const PipelinePass& p) const {
    return (index(static_cast<int>(p.kind)) * index(shape_.chunks) + index(p.chunk)) * index(shape_.micro_batches) +
           index(p.micro_batch);
  }

  const PipelineShape& shape_;
  std::vector<std::vector<std::size_t>> places_;  ///< [rank][kind, chunk, micro-batch]
};

/// The transfers of all ranks, [rank]: for each pass whose input comes from another rank a send there and a receive
/// here.
std::vector<std::vector<TimedStep>> transfers_of(const PipelineShape& shape, const PipelinePasses& passes,
                                                 const PipelineTimes& times) {
  const PassPlaces places(shape, passes);
  std::vector<std::vector<TimedStep>> all(passes.size());
  for (std::size_t r = 0; r < passes.size(); ++r) {
    for (const PipelinePass& pass : passes[r]) {
      const auto producer = producer_of(shape, static_cast<int>(r), pass);
      if (!producer || producer->rank == static_cast<int>(r)) continue;
      const auto from = static_cast<std::size_t>(producer->rank);
      const std::size_t made = places.of(producer->rank, producer->pass);
      const double time = times.spans[from][made].end;
      const int stage = shape.stage(producer->rank, producer->pass.chunk);
      const auto& spans = times.spans[r];
      const auto during = std::ranges::upper_bound(spans, time, {}, &PassSpan::end);  // the first that ends later
      using Kind = PipelineStep::Kind;
      all[from].push_back(
          {time, stage, {.kind = Kind::send, .pass = producer->pass, .peer = static_cast<int>(r)}, made + 1});
      all[r].push_back({time,
                        stage,
                        {.kind = Kind::receive, .pass = pass, .peer = producer->rank},
                        static_cast<std::size_t>(during - spans.begin())});
    }
  }
  for (auto& of_rank : all) {
    std::sort(of_rank.begin(), of_rank.end(),
              [](const TimedStep& a, const TimedStep& b) { return a.order() < b.order(); });
  }
  return all;
}

/// Gives micro-batches their slots and messages their landings, in the order of a rank's steps.
class Places {
 public:
  /// `last`: with which a micro-batch leaves its slot.
  explicit Places(PassKind last) : last_(last) {}

  void fill(PipelineStep& step) {
    const std::pair work(step.pass.micro_batch, step.pass.chunk);
    const bool forward = step.pass.kind == PassKind::forward;
    if (step.kind == PipelineStep::Kind::receive) {
      if (forward) step.landing = landing_of_[work] = landings_.take();
    } else if (step.kind == PipelineStep::Kind::pass && forward) {
      slot_of_[work] = slots_.take();
      if (const auto landing = landing_of_.find(work); landing != landing_of_.end()) {
        landings_.give_back(step.landing = landing->second);
      }
    }
    if (const auto slot = slot_of_.find(work); slot != slot_of_.end()) step.slot = slot->second;
    if (step.kind == PipelineStep::Kind::pass && step.pass.kind == last_) slots_.give_back(step.slot);
  }

 private:
  PassKind last_;
  FreeNumbers slots_, landings_;
  std::map<std::pair<int, int>, int> slot_of_, landing_of_;
};

/// The kind of the passes that end a micro-batch's work in a stage.
PassKind last_kind(const std::vector<PipelinePass>& passes) {
  PassKind last = PassKind::forward;
  for (const PipelinePass& p : passes) last = std::max(last, p.kind);
  return last;
}

int most(const std::vector<PipelineStep>& steps, int PipelineStep::*number) {
  int count = 0;
  for (const PipelineStep& s : steps) count = std::max(count, s.*number + 1);
  return count;
}

}  // namespace

int PipelineSteps::slots() const {
  int count = 0;
  for (int r = 0; r < shape.ranks; ++r) count = std::max(count, slots(r));
  return count;
}

int PipelineSteps::slots(int rank) const {
  return most(ranks[static_cast<std::size_t>(rank)], &PipelineStep::slot);
}

int PipelineSteps::landings(int rank) const {
  return most(ranks[static_cast<std::size_t>(rank)], &PipelineStep::landing);
}

PipelineSteps make_steps(const PipelineShape& shape, const PipelinePasses& passes) {
  const auto transfers = transfers_of(shape, passes, run_clock(shape, passes));
  PipelineSteps all{shape, {}};
  for (std::size_t r = 0; r < passes.size(); ++r) {
    std::vector<PipelineStep> steps;
    auto next = transfers[r].begin();
    for (std::size_t i = 0; i <= passes[r].size(); ++i) {
      for (; next != transfers[r].end() && next->before == i; ++next) steps.push_back(next->step);
      if (i == passes[r].size()) break;
      const auto producer = producer_of(shape, static_cast<int>(r), passes[r][i]);
      const bool comes = producer && producer->rank != static_cast<int>(r);
      steps.push_back({.pass = passes[r][i], .peer = comes ? producer->rank : -1});
    }
    Places places(last_kind(passes[r]));
    for (PipelineStep& step : steps) places.fill(step);
    all.ranks.push_back(std::move(steps));
  }
  return all;
}

}  // namespace octet
