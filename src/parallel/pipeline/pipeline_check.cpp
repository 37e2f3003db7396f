#include "src/parallel/pipeline/pipeline_check.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "src/parallel/pipeline/pipeline_clock.h"
#include "src/parallel/pipeline/rendezvous.h"

namespace octet {
namespace {

/// How far a micro-batch is in a stage.
enum class Progress : std::uint8_t { none, forward, input_gradient, done };

/// Which progress a pass needs and which it makes.
std::pair<Progress, Progress> change_by(PassKind kind) {
  switch (kind) {
    case PassKind::forward:
      return {Progress::none, Progress::forward};
    case PassKind::backward:
      return {Progress::forward, Progress::done};
    case PassKind::input_gradient:
      return {Progress::forward, Progress::input_gradient};
    case PassKind::weight_gradient:
      return {Progress::input_gradient, Progress::done};
  }
  return {};
}

bool adds_to_gradients(PassKind kind) {
  return kind == PassKind::backward || kind == PassKind::weight_gradient;
}

void check_rank(const PipelineShape& shape, int rank, const std::vector<PipelinePass>& passes,
                std::vector<std::string>& problems) {
  const auto tell = [&](const PipelinePass& pass, std::string_view what) {
    problems.push_back(fmt::format("rank {}: {} {}", rank, text_of(pass, shape.chunks), what));
  };
  std::map<std::pair<int, int>, Progress> progress;  // by chunk and micro-batch
  std::map<int, int> last;                           // by chunk: the last micro-batch whose gradients were added
  for (const PipelinePass& pass : passes) {
    if (pass.micro_batch < 0 || pass.micro_batch >= shape.micro_batches || pass.chunk < 0 ||
        pass.chunk >= shape.chunks) {
      tell(pass, "is of no micro-batch or stage of this pipeline");
      continue;
    }
    Progress& now = progress[{pass.chunk, pass.micro_batch}];
    const auto [needed, made] = change_by(pass.kind);
    if (now != needed) tell(pass, now >= made ? "comes twice" : "comes before what it needs");
    now = made;
    if (!adds_to_gradients(pass.kind)) continue;
    const auto before = last.find(pass.chunk);
    if (before != last.end() && before->second > pass.micro_batch) {
      tell(pass, "adds to the gradients after a later micro-batch");
    }
    last[pass.chunk] = pass.micro_batch;
  }
  for (int chunk = 0; chunk < shape.chunks; ++chunk) {
    for (int m = 0; m < shape.micro_batches; ++m) {
      if (progress[{chunk, m}] != Progress::done) {
        problems.push_back(fmt::format("rank {}: micro-batch {} does not come to its end in chunk {}", rank, m, chunk));
      }
    }
  }
}

/// What lies in a slot or a landing.
class Occupancy {
 public:
  Occupancy(std::string what, std::vector<std::string>& problems) : what_(std::move(what)), problems_(problems) {}
  void take(int number, std::pair<int, int> work) {
    if (!held_.emplace(number, work).second) tell(number, "is taken twice");
  }
  void expect(int number, std::pair<int, int> work) {
    const auto held = held_.find(number);
    if (held == held_.end() || held->second != work) tell(number, "does not hold what is taken from it");
  }
  void give_back(int number) { held_.erase(number); }

 private:
  void tell(int number, std::string_view problem) {
    problems_.push_back(fmt::format("{} {} {}", what_, number, problem));
  }
  std::string what_;
  std::vector<std::string>& problems_;
  std::map<int, std::pair<int, int>> held_;
};

void check_places(int rank, const std::vector<PipelineStep>& steps, std::vector<std::string>& problems) {
  Occupancy slots(fmt::format("rank {}: slot", rank), problems);
  Occupancy landings(fmt::format("rank {}: landing", rank), problems);
  for (const PipelineStep& step : steps) {
    const std::pair work(step.pass.chunk, step.pass.micro_batch);
    const bool forward = step.pass.kind == PassKind::forward;
    if (step.kind == PipelineStep::Kind::receive) {
      forward ? landings.take(step.landing, work) : slots.expect(step.slot, work);
    } else if (step.kind == PipelineStep::Kind::pass) {
      if (forward) slots.take(step.slot, work);
      if (forward && step.peer >= 0) {
        landings.expect(step.landing, work);
        landings.give_back(step.landing);
      }
      slots.expect(step.slot, work);
      if (adds_to_gradients(step.pass.kind)) slots.give_back(step.slot);
    }
  }
}

}  // namespace

std::vector<std::string> problems_of(const PipelineShape& shape, const PipelinePasses& passes) {
  std::vector<std::string> problems;
  for (std::size_t rank = 0; rank < passes.size(); ++rank) {
    check_rank(shape, static_cast<int>(rank), passes[rank], problems);
  }
  if (!problems.empty()) return problems;
  std::string stuck;
  run_clock(shape, passes, {StageTimes{}}, 0, &stuck);
  if (!stuck.empty()) problems.push_back(stuck);
  return problems;
}

std::vector<std::string> problems_of(const PipelineSteps& steps) {
  PipelinePasses passes;
  for (const auto& of_rank : steps.ranks) {
    auto& mine = passes.emplace_back();
    for (const PipelineStep& step : of_rank) {
      if (step.kind == PipelineStep::Kind::pass) mine.push_back(step.pass);
    }
  }
  std::vector<std::string> problems = problems_of(steps.shape, passes);
  if (!problems.empty()) return problems;
  for (std::size_t rank = 0; rank < steps.ranks.size(); ++rank) {
    check_places(static_cast<int>(rank), steps.ranks[rank], problems);
  }
  for (std::string& problem : problems_of_transfers(steps)) problems.push_back(std::move(problem));
  return problems;
}

}  // namespace octet
