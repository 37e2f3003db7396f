// Which message of a pipeline may travel beside which passes: the order that the streams of a dry run are given, where
// work waits for what is before it on its stream and for what it names of the others.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "src/profile/scopes.h"
#include "src/run_config/checks/layout.h"
#include "src/train/plan/dry_run.h"
#include "src/train/step/pipeline_plan.h"

namespace octet {
namespace {

/// Everything that the streams are given, and what must be done before it.
class Order final : public WorkLog {
 public:
  struct Piece {
    std::string group;  ///< of a message
    StepPart part{};
    std::vector<bool> before;  ///< by number
  };

  void set_model_stream(const Stream&) override {}
  double add(const Stream& stream, const Work& work, const Turn& turn) override {
    std::vector<bool> before(pieces.size(), false);
    const auto comes_after = [&](std::size_t other) {
      const std::vector<bool>& earlier = pieces[other].before;
      for (std::size_t i = 0; i < earlier.size(); ++i) before[i] = before[i] || earlier[i];
      before[other] = true;
    };
    for (const std::int64_t number : turn.after) comes_after(static_cast<std::size_t>(number));
    if (const auto last = last_.find(&stream); last != last_.end()) comes_after(last->second);
    last_[&stream] = pieces.size();
    const bool message = work.group.starts_with("pp_");
    pieces.push_back({std::string(message ? work.group : ""), StepPartScope::current(), std::move(before)});
    return 0;
  }
  bool precedes(std::size_t a, std::size_t b) const { return a < b && pieces[b].before[a]; }

  std::vector<Piece> pieces;

 private:
  std::map<const Stream*, std::size_t> last_;
};

using Kind = PipelineStep::Kind;

bool is_of(StepPart part, PassKind pass) {
  if (pass == PassKind::forward) return part == StepPart::forward;
  if (pass == PassKind::weight_gradient) return part == StepPart::weight_gradients;
  return part == StepPart::backward || part == StepPart::recompute;
}

/// A rank's second step, run dry: for each step of its plan the pieces of work that it gave to the streams.
class RankOfPipeline {
 public:
  RankOfPipeline(const PipelineShape& shape, int rank) : chunks_(shape.chunks) {
    RunConfig config;
    config.model = {.name = "order",
                    .dim = 64,
                    .layers = 16,
                    .heads = 4,
                    .kv_heads = 4,
                    .head_dim = 16,
                    .ffn_dim = 96,
                    .vocab_size = 64};
    config.train.seq_len = 32;
    config.train.global_batch = shape.micro_batches;
    config.parallel.pp = shape.ranks;
    config.parallel.pp_chunks = shape.chunks;
    config.parallel.pp_schedule = shape.order;
    config.parallel.dp_shard = 1;
    const MeshShape mesh = mesh_shape(config.parallel);
    plan_ = pipeline_plan(config, mesh, rank).train;
    DryRun run(config, mesh, rank, DeviceType::cpu, &order_);
    std::size_t next = 0;
    run.second_step([&] { next = order_.pieces.size(); });
    for (const PipelineStep& step : plan_) {
      std::vector<std::size_t>& mine = work_.emplace_back();
      const auto& pieces = order_.pieces;
      if (step.kind != Kind::pass) {
        while (next < pieces.size() && pieces[next].group.empty()) ++next;
        if (next < pieces.size()) mine.push_back(next++);
        continue;
      }
      while (next < pieces.size() && pieces[next].group.empty() && is_of(pieces[next].part, step.pass.kind)) {
        mine.push_back(next++);
      }
    }
  }

  std::size_t steps() const { return plan_.size(); }
  bool is_pass(std::size_t i) const { return plan_[i].kind == Kind::pass; }
  bool sends(std::size_t i) const { return plan_[i].kind == Kind::send; }
  /// The pass that makes or uses a message.
  std::size_t pass_of(std::size_t message) const { return find(Kind::pass, plan_[message].pass); }
  /// The forward pass that takes the slot which a message leaves from; steps() if none does any more.
  std::size_t next_of_slot(std::size_t send) const {
    for (std::size_t i = send + 1; i < steps(); ++i) {
      if (is_pass(i) && plan_[i].pass.kind == PassKind::forward && plan_[i].slot == plan_[send].slot) return i;
    }
    return steps();
  }
  /// Whether the pass waits for a message that goes the way of this one and behind it.
  bool waits_behind(std::size_t pass, std::size_t message) const {
    for (std::size_t i = message + 1; i < pass; ++i) {
      if (is_pass(i) || group(i) != group(message)) continue;
      if (sends(i) ? next_of_slot(i) < pass : pass_of(i) <= pass) return true;
    }
    return false;
  }
  const std::vector<std::size_t>& work(std::size_t i) const { return work_[i]; }
  const std::string& group(std::size_t i) const { return order_.pieces[work_[i].front()].group; }
  /// Whether all of a step is done before any of the other begins.
  bool precedes(std::size_t a, std::size_t b) const { return order_.precedes(work_[a].back(), work_[b].front()); }
  bool precedes_end(std::size_t a, std::size_t b) const { return order_.precedes(work_[a].back(), work_[b].back()); }
  /// Whether the device is free to do some of the pass while the message is under way.
  bool beside(std::size_t message, std::size_t pass) const {
    return !work_[pass].empty() && !precedes(message, pass) && !precedes(pass, message);
  }

  std::string text(std::size_t i) const {
    const char* kind = plan_[i].kind == Kind::pass ? "" : plan_[i].kind == Kind::send ? "send of " : "receive for ";
    return kind + text_of(plan_[i].pass, chunks_);
  }
  /// "send of F 0 beside F 1, F 2", a line a message.
  std::string messages() const {
    std::string all;
    for (std::size_t i = 0; i < steps(); ++i) {
      if (is_pass(i)) continue;
      std::vector<std::string> passes;
      for (std::size_t p = 0; p < steps(); ++p) {
        if (is_pass(p) && beside(i, p)) passes.push_back(text(p));
      }
      all += fmt::format("{} beside {}\n", text(i),
                         passes.empty() ? "nothing" : fmt::format("{}", fmt::join(passes, ", ")));
    }
    return all;
  }

 private:
  std::size_t find(Kind kind, const PipelinePass& pass) const {
    const auto found =
        std::ranges::find_if(plan_, [&](const PipelineStep& s) { return s.kind == kind && s.pass == pass; });
    return static_cast<std::size_t>(found - plan_.begin());
  }

  int chunks_;
  Order order_;
  std::vector<PipelineStep> plan_;
  std::vector<std::vector<std::size_t>> work_;
};

/// Every rank of some pipelines.
void for_all_ranks(const std::function<void(const RankOfPipeline&)>& check) {
  using enum PipelineOrder;
  for (const PipelineShape& shape : {PipelineShape{one_f_one_b, 2, 1, 5},
                                     {one_f_one_b, 4, 1, 6},
                                     {interleaved, 2, 2, 4},
                                     {interleaved, 4, 2, 9},
                                     {zb_h1, 2, 1, 4},
                                     {zb_h1, 4, 1, 7}}) {
    for (int rank = 0; rank < shape.ranks; ++rank) {
      SCOPED_TRACE(fmt::format("{}, rank {} of {}", shape.order, rank, shape.ranks));
      check(RankOfPipeline(shape, rank));
    }
  }
}

TEST(PipelineOrder, MessagesComeBehindWhatMakesThemAndBeforeWhatUsesThem) {
  for_all_ranks([](const RankOfPipeline& r) {
    for (std::size_t i = 0; i < r.steps(); ++i) {
      if (r.is_pass(i)) continue;
      ASSERT_EQ(r.work(i).size(), 1U) << r.text(i);
      const std::size_t pass = r.pass_of(i);
      EXPECT_TRUE(r.sends(i) ? r.precedes(pass, i) : r.precedes(i, pass)) << r.text(i);
    }
  });
}

/// What is sent lies where the slot's next forward leaves what it has made.
TEST(PipelineOrder, NothingIsWrittenWhereAMessageStillLeavesFrom) {
  for_all_ranks([](const RankOfPipeline& r) {
    for (std::size_t i = 0; i < r.steps(); ++i) {
      if (!r.sends(i)) continue;
      const std::size_t next = r.next_of_slot(i);
      if (next == r.steps()) continue;
      EXPECT_TRUE(r.precedes_end(i, next)) << r.text(i) << " and " << r.text(next);
    }
  });
}

/// A receive runs beside the passes that come between it and its own, a send beside the next pass: up to the first one
/// that waits for a later message of the same direction, which goes behind this one.
TEST(PipelineOrder, MessagesTravelBesideOtherPasses) {
  int beside = 0;
  for_all_ranks([&](const RankOfPipeline& r) {
    for (std::size_t i = 0; i < r.steps(); ++i) {
      if (r.is_pass(i)) continue;
      for (std::size_t p = i + 1; p < r.steps() && p != r.pass_of(i) && !r.waits_behind(p, i); ++p) {
        if (!r.is_pass(p) || r.work(p).empty()) continue;
        EXPECT_TRUE(r.beside(i, p)) << r.text(i) << " and " << r.text(p);
        ++beside;
        if (r.sends(i)) break;
      }
    }
  });
  EXPECT_GT(beside, 200);
}

TEST(PipelineOrder, OfTheMiddleOneOfThreeRanks) {
  EXPECT_EQ(RankOfPipeline({PipelineOrder::one_f_one_b, 3, 1, 4}, 1).messages(),
            "receive for F 0 beside nothing\n"
            "receive for F 1 beside F 0\n"
            "send of F 0 beside F 1, B 0\n"
            "receive for F 2 beside F 1, B 0\n"
            "send of F 1 beside B 0, F 2, B 1\n"
            "receive for B 0 beside F 0, F 1\n"
            "send of B 0 beside F 2\n"
            "send of F 2 beside B 1\n"
            "receive for B 1 beside F 2\n"
            "receive for F 3 beside B 1\n"
            "send of B 1 beside F 3\n"
            "send of F 3 beside B 2, B 3\n"
            "receive for B 2 beside F 3\n"
            "send of B 2 beside nothing\n"
            "receive for B 3 beside nothing\n"
            "send of B 3 beside nothing\n");
}

}  // namespace
}  // namespace octet
