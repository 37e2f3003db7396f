// What a plan decides by the memory that there is.
#include "src/train/plan/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "src/model/parameters.h"
#include "src/run_config/checks/layout.h"
#include "src/train/plan/less_memory.h"

namespace octet {
namespace {

RunConfig float8_on_a_gpu() {
  RunConfig config;
  config.device = DeviceType::cuda;
  config.precision = Precision::float8;
  config.model = {.name = "small",
                  .dim = 128,
                  .layers = 2,
                  .heads = 8,
                  .kv_heads = 8,
                  .head_dim = 16,
                  .ffn_dim = 1024,
                  .vocab_size = 512};
  config.train.seq_len = 64;
  config.train.global_batch = 8;
  return config;
}

TEST(WaysToLessMemory, AreThoseThatTheRunHasNotTaken) {
  RunConfig config = float8_on_a_gpu();
  config.train.micro_batch = 2;
  config.parallel.zero = Zero::one;
  const auto ways = [&](const MeshShape& mesh) { return ways_to_less_memory(config, mesh, 8, "nodes"); };
  EXPECT_EQ(ways({.dp_shard = 4, .tp = 2}),
            "more nodes, a smaller train.micro_batch, parallel.zero 2 or 3, recompute.mode full, parallel.tp 4 or a "
            "smaller train.seq_len");
  config.parallel.zero = Zero::two;
  config.recompute.mode = RecomputeMode::full;
  EXPECT_EQ(ways({.dp_shard = 4, .tp = 8}),
            "more nodes, a smaller train.micro_batch, parallel.zero 3 or a smaller train.seq_len");
  config.train.micro_batch = 1;
  EXPECT_EQ(ways({.tp = 8}), "more nodes or a smaller train.seq_len");
}

struct Asked {
  RunConfig config;
  MemoryPlan plan;
  int questions = 0;
};
Asked plan(RunConfig config, bool room) {
  Asked asked;
  const FittedRun fitted = fit_run(std::move(config), {}, 0, 1, DeviceType::cpu, [&](const MemoryPlan&) {
    ++asked.questions;
    return room;
  });
  asked.plan = fitted.plan;
  asked.config = fitted.config;
  return asked;
}

/// A byte for each element of the weights that are gathered in 8 bits.
TEST(TransposedWeights, AreKeptWhereThePlanHasRoom) {
  const RunConfig config = float8_on_a_gpu();
  const Asked with = plan(config, true), without = plan(config, false);
  EXPECT_EQ(with.config.float8.keep_transposed_weights, AutoBool::yes);
  EXPECT_EQ(without.config.float8.keep_transposed_weights, AutoBool::no);
  std::int64_t bytes = 0;
  for (const ParameterSpec& p : llama_parameters(config.model, config.precision, config.float8).parameters) {
    if (is_float8(p.gathered)) bytes += p.shape.elements();
  }
  EXPECT_GT(bytes, 0);
  EXPECT_EQ(with.plan[Purpose::gathered] - without.plan[Purpose::gathered], bytes);
  EXPECT_EQ(with.plan.total() - without.plan.total(), bytes);
}

/// The stage that needs most decides, whichever rank asks, and what it decides is planned for all.
TEST(TransposedWeights, ThereIsOneDecisionForAllStagesOfAPipeline) {
  RunConfig config = float8_on_a_gpu();
  config.parallel.pp = 2;
  config.parallel.dp_shard = 1;
  const MeshShape mesh = mesh_shape(config.parallel);
  const PipelineMemory kept = plan_pipeline(config, mesh, 1, DeviceType::cpu);
  const std::int64_t least = std::min(kept.ranks[0].total(), kept.ranks[1].total());
  ASSERT_NE(kept.ranks[0].total(), kept.ranks[1].total()) << "one stage has room and the other has none";
  const FittedPipeline fitted =
      fit_pipeline(config, mesh, 1, DeviceType::cpu, [&](const MemoryPlan& plan) { return plan.total() <= least; });
  EXPECT_EQ(fitted.config.float8.keep_transposed_weights, AutoBool::no);
  ASSERT_EQ(fitted.memory.ranks.size(), 2u);
  for (std::size_t pp = 0; pp < 2; ++pp) {
    EXPECT_LT(fitted.memory.ranks[pp].total(), kept.ranks[pp].total()) << pp;
  }
  EXPECT_EQ(fit_pipeline(config, mesh, 1, DeviceType::cpu, [](const MemoryPlan&) { return true; })
                .config.float8.keep_transposed_weights,
            AutoBool::yes);
}

TEST(TransposedWeights, NobodyIsAskedWhereNothingIsLeftToThePlan) {
  RunConfig config = float8_on_a_gpu();
  config.float8.keep_transposed_weights = AutoBool::yes;
  EXPECT_EQ(plan(config, false).questions, 0);
  EXPECT_EQ(plan(config, false).config.float8.keep_transposed_weights, AutoBool::yes);
  config = float8_on_a_gpu();
  EXPECT_EQ(plan(config, true).questions, 1);
  config.parallel.zero = Zero::three;
  EXPECT_EQ(plan(config, true).questions, 0);
  config = float8_on_a_gpu();
  config.float8.recipe = "rowwise";
  EXPECT_EQ(plan(config, true).questions, 0);
  config = float8_on_a_gpu();
  config.precision = Precision::bf16;
  EXPECT_EQ(plan(config, true).questions, 0);
  config = float8_on_a_gpu();
  config.device = DeviceType::cpu;
  EXPECT_EQ(plan(config, true).questions, 0);
}

}  // namespace
}  // namespace octet
