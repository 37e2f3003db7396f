// The time of a step whose ranks wait for each other, from steps of its stages that are run dry.
#include "src/train/plan/pipeline_timeline.h"

#include <gtest/gtest.h>

#include "src/run_config/checks/layout.h"
#include "src/train/step/pipeline_plan.h"

namespace octet {
namespace {

TEST(PipelineTimeline, WhatTheModelsStreamWaitsForBelongsToWhatItDoesNext) {
  const auto span = [](StepPart part, double begin, double end, int stream = 1) {
    return Span{.name = "gemm", .part = part, .stream = stream, .begin = begin, .end = end};
  };
  Recording step;
  step.spans = {span(StepPart::forward, 2, 3),  span(StepPart::forward, 0, 9, 2), span(StepPart::recompute, 3, 4),
                span(StepPart::backward, 6, 7), span(StepPart::forward, 7, 8),    span(StepPart::optimizer, 9, 10)};
  step.wall = 11;
  const RankSeconds seconds = rank_seconds(step);
  EXPECT_EQ(seconds.forward, 3 + 1);
  EXPECT_EQ(seconds.backward, 1 + 3);
  EXPECT_EQ(seconds.rest, 3);
}

/// Rates at which kernels alone take time.
constexpr MachineRates rates{.kernels = {.fp8 = 4e12, .bf16 = 2e12, .fp32 = 1e12, .memory = 1e12},
                             .ranks_on_node = 8,
                             .in_node = 1e18,
                             .network = 1e18,
                             .latency = 0};

RunConfig run_of(std::int64_t pp, std::int64_t chunks, std::int64_t micro_batches) {
  RunConfig config;
  config.model = {.name = "even",
                  .dim = 128,
                  .layers = 16,
                  .heads = 4,
                  .kv_heads = 4,
                  .head_dim = 32,
                  .ffn_dim = 256,
                  .vocab_size = 64};
  config.precision = Precision::fp32;
  config.train.seq_len = 64;
  config.train.global_batch = micro_batches;
  config.parallel.pp = pp;
  config.parallel.pp_chunks = chunks;
  config.parallel.pp_schedule = chunks > 1 ? PipelineOrder::interleaved : PipelineOrder::one_f_one_b;
  config.parallel.dp_shard = 1;
  return config;
}

TEST(PipelineTimeline, RanksOfEqualStagesWaitAsTheFormulaSays) {
  for (const auto& [pp, chunks, micro_batches] : {std::tuple{2, 1, 2}, {4, 1, 4}, {4, 1, 16}, {4, 2, 8}}) {
    const RunConfig config = run_of(pp, chunks, micro_batches);
    const PipelineEstimate e = estimate_pipeline(config, mesh_shape(config.parallel), rates);
    ASSERT_EQ(e.ranks.size(), static_cast<std::size_t>(pp));
    const double formula = (pp - 1.0) / (chunks * micro_batches + pp - 1.0);
    EXPECT_NEAR(e.times.bubble_share(), formula, 0.03) << pp << " " << chunks << " " << micro_batches;
    for (const RankSeconds& rank : e.ranks) {
      EXPECT_GT(rank.forward, 0);
      EXPECT_GT(rank.backward, rank.forward);
      EXPECT_GT(rank.rest, 0);
      EXPECT_GT(e.step, rank.forward + rank.backward + rank.rest);
    }
  }
}

TEST(PipelineTimeline, RanksThatRecomputeHaveNoWeightGradientsToWaitWith) {
  RunConfig config = run_of(4, 1, 8);
  const auto shares = [&](PipelineOrder order) {
    config.parallel.pp_schedule = order;
    const MeshShape mesh = mesh_shape(config.parallel);
    return std::pair{estimate_pipeline(config, mesh, rates), clocked_passes(config, mesh)};
  };
  const auto late_seconds = [](const PipelineEstimate& e) { return e.ranks.at(1).weight_gradients; };
  const auto [plain, plain_flops] = shares(PipelineOrder::one_f_one_b);
  const auto [split, split_flops] = shares(PipelineOrder::zb_h1);
  EXPECT_EQ(late_seconds(plain), 0);
  EXPECT_GT(late_seconds(split), 0);
  EXPECT_LT(split.times.bubble_share(), 0.6 * plain.times.bubble_share());
  EXPECT_NEAR(split.times.bubble_share(), 3.0 / (3 * 8 + 3), 0.04);

  config.recompute.mode = RecomputeMode::full;
  const auto [plain_again, plain_again_flops] = shares(PipelineOrder::one_f_one_b);
  const auto [split_again, split_again_flops] = shares(PipelineOrder::zb_h1);
  EXPECT_EQ(late_seconds(split_again), 0);
  EXPECT_NEAR(split_again.times.bubble_share(), plain_again.times.bubble_share(), 0.01);
  EXPECT_NEAR(split_again_flops.times.bubble_share(), plain_again_flops.times.bubble_share(), 0.01);
  EXPECT_LT(split_flops.times.bubble_share(), 0.6 * plain_flops.times.bubble_share());
}

}  // namespace
}  // namespace octet
