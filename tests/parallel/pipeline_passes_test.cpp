#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <tuple>

#include "src/base/error.h"
#include "src/parallel/pipeline/pipeline_check.h"
#include "src/parallel/pipeline/pipeline_clock.h"
#include "src/parallel/pipeline/pipeline_passes.h"
#include "src/parallel/pipeline/pipeline_steps.h"
#include "src/parallel/pipeline/rendezvous.h"

namespace octet {
namespace {

constexpr auto one_f_one_b = PipelineOrder::one_f_one_b;
constexpr auto interleaved = PipelineOrder::interleaved;
constexpr auto zb_h1 = PipelineOrder::zb_h1;

std::string name(const PipelineShape& s) {
  return fmt::format("{} pp {} chunks {} micro-batches {}", s.order, s.ranks, s.chunks, s.micro_batches);
}

/// Every order on 1 to 8 ranks with up to 4 chunks and 17 micro-batches.
void for_all_shapes(const std::function<void(const PipelineShape&)>& check) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (int micro_batches = ranks; micro_batches <= 17; ++micro_batches) {
      check({one_f_one_b, ranks, 1, micro_batches});
      check({zb_h1, ranks, 1, micro_batches});
      for (int chunks = 2; chunks <= 4 && ranks > 1; ++chunks) check({interleaved, ranks, chunks, micro_batches});
    }
  }
}

std::string text(const std::vector<PipelinePass>& passes, int chunks = 1) {
  std::string all;
  for (const PipelinePass& p : passes) all += (all.empty() ? "" : ", ") + text_of(p, chunks);
  return all;
}

TEST(PipelinePasses, EveryOrderIsProvenForEveryShape) {
  for_all_shapes([](const PipelineShape& shape) {
    const PipelineSteps steps = make_steps(shape);
    EXPECT_EQ(problems_of(steps), std::vector<std::string>{}) << name(shape);
  });
}

/// As in validation, of any number of micro-batches.
TEST(PipelinePasses, ForwardAloneTakesOneSlot) {
  for_all_shapes([](PipelineShape shape) {
    for (const int m : {1, shape.micro_batches}) {
      shape.micro_batches = m;
      const PipelineSteps steps = make_steps(shape, make_forward_passes(shape));
      EXPECT_EQ(problems_of_transfers(steps), std::vector<std::string>{}) << name(shape);
      EXPECT_EQ(steps.slots(), 1) << name(shape);
    }
  });
}

TEST(PipelinePasses, OfFourRanks) {
  const PipelinePasses passes = make_passes({one_f_one_b, 4, 1, 5});
  EXPECT_EQ(text(passes[0]), "F 0, F 1, F 2, F 3, B 0, F 4, B 1, B 2, B 3, B 4");
  EXPECT_EQ(text(passes[3]), "F 0, B 0, F 1, B 1, F 2, B 2, F 3, B 3, F 4, B 4");
}

TEST(PipelinePasses, ZbH1PutsWeightGradientsWhereRanksWouldWait) {
  const PipelinePasses passes = make_passes({zb_h1, 3, 1, 4});
  EXPECT_EQ(text(passes[0]), "F 0, F 1, F 2, I 0, W 0, F 3, I 1, W 1, I 2, W 2, I 3, W 3");
  EXPECT_EQ(text(passes[2]), "F 0, I 0, F 1, I 1, F 2, I 2, W 0, F 3, I 3, W 1, W 2, W 3");
}

/// The example of Megatron-LM's get_schedule_table: groups of 3 for 2 ranks, 5 micro-batches, 2 chunks.
TEST(PipelinePasses, InterleavedGoesThroughChunksInGroups) {
  const PipelinePasses passes = make_passes({interleaved, 2, 2, 5});
  std::vector<PipelinePass> forwards;
  std::copy_if(passes[1].begin(), passes[1].end(), std::back_inserter(forwards),
               [](const PipelinePass& p) { return p.kind == PassKind::forward; });
  EXPECT_EQ(text(forwards, 2), "F 0.0, F 1.0, F 2.0, F 0.1, F 1.1, F 2.1, F 3.0, F 4.0, F 3.1, F 4.1");
}

// --- time and memory, against the published formulas (passes.h)

double bubble_of(const PipelineShape& shape, const StageTimes& times) {
  return run_clock(shape, make_passes(shape), {times}).bubble_share();
}

TEST(PipelineClock, BubbleOf1F1B) {
  for (const auto& [p, m] : {std::pair(2, 2), {2, 8}, {4, 4}, {4, 16}, {8, 32}}) {
    EXPECT_NEAR(bubble_of({one_f_one_b, p, 1, m}, {1.3, 1.1, 0.9}), (p - 1.0) / (m + p - 1.0), 1e-12);
  }
}

/// (p - 1) / v of a stage's forward and backward, beside m of them.
TEST(PipelineClock, BubbleOfInterleaved) {
  for (const auto& [p, v, m] : {std::tuple(2, 2, 8), {4, 2, 8}, {4, 4, 16}, {8, 2, 32}}) {
    EXPECT_NEAR(bubble_of({interleaved, p, v, m}, {1, 1, 1}), (p - 1.0) / (v * m + p - 1.0), 1e-12) << p << v << m;
  }
}

/// (p - 1)(F + I - W) where a rank has work enough to fill it.
TEST(PipelineClock, BubbleOfZbH1) {
  for (const auto& [p, m] : {std::pair(2, 8), {4, 16}, {8, 32}}) {
    EXPECT_NEAR(bubble_of({zb_h1, p, 1, m}, {1, 1, 1}), (p - 1.0) / (3.0 * m + p - 1.0), 1e-12) << p << " " << m;
  }
}

TEST(PipelineClock, TransfersTakeTheirTime) {
  const PipelineShape shape{one_f_one_b, 2, 1, 2};
  EXPECT_EQ(run_clock(shape, make_passes(shape), {StageTimes{}}, 0).end, 9);
  EXPECT_EQ(run_clock(shape, make_passes(shape), {StageTimes{}}, 0.5).end, 10);
}

/// min(m, p - r) micro-batches of 1F1B, p of ZB-H1, and of interleaved as many chunks' as ran ahead.
TEST(PipelineSteps, SlotsAreThoseOfTheFormulas) {
  for_all_shapes([](const PipelineShape& s) {
    const PipelineSteps steps = make_steps(s);
    for (int r = 0; r < s.ranks; ++r) {
      if (s.order == one_f_one_b) {
        EXPECT_EQ(steps.slots(r), std::min(s.micro_batches, s.ranks - r)) << name(s);
      } else if (s.order == zb_h1) {
        EXPECT_LE(steps.slots(r), s.ranks) << name(s);
      }
    }
    if (s.order == interleaved && s.micro_batches % s.ranks == 0) {
      const int ahead = 2 * (s.ranks - 1) + (s.chunks - 1) * s.ranks + 1;
      EXPECT_EQ(steps.slots(0), std::min(ahead, s.chunks * s.micro_batches)) << name(s);
    }
  });
}

/// A message that comes during a pass has a place to land. Those of a group that is larger than the pipeline wait for
/// the rest of it.
TEST(PipelineSteps, FewLandings) {
  for_all_shapes([](const PipelineShape& s) {
    const PipelineSteps steps = make_steps(s);
    const int wait = s.order == interleaved ? group_size(s) - s.ranks : 0;
    for (int r = 0; r < s.ranks; ++r) EXPECT_LE(steps.landings(r), 2 + wait) << name(s);
  });
}

/// As of 405B: every pass is found among its rank's, of which there are thousands.
TEST(PipelineSteps, OfALargeShapeSendBehindAPassAndReceiveBeforeIt) {
  const PipelineShape shape{interleaved, 16, 8, 512};
  const auto passes_a_rank = 2 * static_cast<std::size_t>(shape.chunks) * static_cast<std::size_t>(shape.micro_batches);
  int sent = 0, received = 0;
  for (const auto& of_rank : make_steps(shape).ranks) {
    std::set<std::tuple<PassKind, int, int>> done;
    for (const PipelineStep& step : of_rank) {
      const std::tuple work(step.pass.kind, step.pass.micro_batch, step.pass.chunk);
      if (step.kind == PipelineStep::Kind::pass) {
        ASSERT_TRUE(done.insert(work).second) << text_of(step.pass, shape.chunks);
      } else if (step.kind == PipelineStep::Kind::send) {
        ASSERT_TRUE(done.contains(work)) << text_of(step.pass, shape.chunks);
        ++sent;
      } else {
        ASSERT_FALSE(done.contains(work)) << text_of(step.pass, shape.chunks);
        ++received;
      }
    }
    EXPECT_EQ(done.size(), passes_a_rank);
  }
  EXPECT_EQ(sent, 2 * (shape.stages() - 1) * shape.micro_batches);
  EXPECT_EQ(received, sent);
}

// --- what the checker finds

PipelineSteps broken(const PipelineShape& shape,
                     const std::function<void(std::vector<std::vector<PipelineStep>>&)>& f) {
  PipelineSteps steps = make_steps(shape);
  f(steps.ranks);
  return steps;
}

std::string problems(const PipelineSteps& steps) {
  std::string all;
  for (const std::string& p : problems_of(steps)) all += p + "\n";
  return all;
}

auto place_of(std::vector<PipelineStep>& steps, PipelineStep::Kind kind, const PipelinePass& pass) {
  return std::find_if(steps.begin(), steps.end(),
                      [&](const PipelineStep& s) { return s.kind == kind && s.pass == pass; });
}

using Kind = PipelineStep::Kind;
const PipelineShape three{one_f_one_b, 3, 1, 4};
const PipelinePass f1{PassKind::forward, 1};
const PipelinePass b1{PassKind::backward, 1};
const PipelinePass b2{PassKind::backward, 2};

TEST(PipelineCheck, FindsAPassThatIsMissing) {
  const auto steps = broken(three, [](auto& r) { r[2].erase(place_of(r[2], Kind::pass, b1)); });
  EXPECT_EQ(problems(steps), "rank 2: micro-batch 1 does not come to its end in chunk 0\n");
}

TEST(PipelineCheck, FindsAPassThatComesTwice) {
  const auto steps = broken(three, [](auto& r) { r[2].push_back(*place_of(r[2], Kind::pass, b1)); });
  EXPECT_NE(problems(steps).find("rank 2: B 1 comes twice\n"), std::string::npos) << problems(steps);
}

TEST(PipelineCheck, FindsBackwardBeforeForward) {
  const auto steps =
      broken(three, [](auto& r) { std::iter_swap(place_of(r[2], Kind::pass, f1), place_of(r[2], Kind::pass, b1)); });
  EXPECT_NE(problems(steps).find("rank 2: B 1 comes before what it needs\n"), std::string::npos) << problems(steps);
}

TEST(PipelineCheck, FindsGradientsInAnotherOrder) {
  const auto steps =
      broken(three, [](auto& r) { std::iter_swap(place_of(r[0], Kind::pass, b1), place_of(r[0], Kind::pass, b2)); });
  EXPECT_NE(problems(steps).find("B 1 adds to the gradients after a later micro-batch"), std::string::npos)
      << problems(steps);
}

TEST(PipelineCheck, FindsChunksThatAreSwapped) {
  const auto steps = broken({interleaved, 2, 2, 2}, [](auto& r) {
    for (PipelineStep& s : r[0]) s.pass.chunk = 1 - s.pass.chunk;
  });
  EXPECT_NE(problems(steps).find("waits"), std::string::npos) << problems(steps);
}

TEST(PipelineCheck, FindsAMessageThatNobodyTakes) {
  const auto steps = broken(three, [](auto& r) {
    PipelineStep more = *place_of(r[0], Kind::send, f1);
    r[0].push_back(more);
  });
  EXPECT_EQ(problems(steps), "rank 0: send of F 1 is never over\n");
}

TEST(PipelineCheck, FindsMessagesInAnotherOrder) {
  const auto steps = broken(three, [](auto& r) {
    std::iter_swap(place_of(r[1], Kind::receive, {PassKind::forward, 0}), place_of(r[1], Kind::receive, f1));
  });
  EXPECT_NE(problems(steps).find("meets"), std::string::npos) << problems(steps);
}

TEST(PipelineCheck, FindsAReceiveAfterItsUse) {
  const auto steps = broken(three, [](auto& r) {
    const auto receive = place_of(r[1], Kind::receive, b1);
    const auto pass = place_of(r[1], Kind::pass, b1);
    std::rotate(receive, receive + 1, pass + 1);
  });
  EXPECT_NE(problems(steps).find("rank 1: B 1 waits for ever\n"), std::string::npos) << problems(steps);
}

/// Each has begun to receive what the other sends later: without an end, if transfers follow each other.
TEST(PipelineCheck, FindsRanksThatWaitForEachOther) {
  const auto steps = broken({interleaved, 2, 2, 4}, [](auto& r) {
    const auto receive = place_of(r[0], Kind::receive, {PassKind::forward, 0, 1});
    std::rotate(place_of(r[0], Kind::send, {PassKind::forward, 1, 0}), receive, receive + 1);
  });
  EXPECT_NE(problems(steps).find("is never over"), std::string::npos) << problems(steps);
}

TEST(PipelineCheck, FindsASlotThatIsTakenTwice) {
  const auto steps = broken(three, [](auto& r) {
    for (PipelineStep& s : r[0]) s.slot = 0;
  });
  EXPECT_NE(problems(steps).find("rank 0: slot 0 is taken twice\n"), std::string::npos) << problems(steps);
}

TEST(PipelinePasses, ShapesThatAreRefused) {
  const auto why = [](const PipelineShape& s) {
    const auto obstacle = obstacle_to(s);
    return obstacle ? obstacle->text() : "";
  };
  EXPECT_NE(why({one_f_one_b, 4, 2, 8}).find("1f1b has one stage a rank"), std::string::npos);
  EXPECT_NE(why({zb_h1, 4, 2, 8}).find("zb-h1 has one stage a rank"), std::string::npos);
  EXPECT_NE(why({interleaved, 4, 1, 8}).find("pp_chunks of 2 or more"), std::string::npos);
  EXPECT_NE(why({interleaved, 1, 2, 8}).find("no pipeline"), std::string::npos);
  EXPECT_NE(why({one_f_one_b, 4, 1, 3}).find("raise train.global_batch"), std::string::npos);
  EXPECT_THROW(make_passes({one_f_one_b, 4, 1, 3}), Error);
}

}  // namespace
}  // namespace octet
