// NCCL's own memory in the memory plan: which communicators a run makes, and that they must fit.
#include "src/train/plan/memory_plan.h"

#include <gtest/gtest.h>

#include "src/base/error.h"
#include "src/train/plan/dry_run.h"
#include "tests/support/idle_gpu.h"

namespace octet {
namespace {

constexpr std::int64_t mib = 1 << 20;

RunConfig on_gpus() {
  RunConfig config;
  config.device = DeviceType::cuda;
  config.model = {.name = "small",
                  .dim = 128,
                  .layers = 2,
                  .heads = 8,
                  .kv_heads = 8,
                  .head_dim = 16,
                  .ffn_dim = 1024,
                  .vocab_size = 512};
  config.train.seq_len = 64;
  config.train.global_batch = 64;
  return config;
}

/// What a step of the run makes and uses.
std::vector<DryGroup> groups_of(const RunConfig& config, const MeshShape& mesh) {
  RunConfig laid_out = config;
  laid_out.parallel.tp = mesh.tp;
  laid_out.parallel.pp = mesh.pp;
  DryRun dry(laid_out, mesh, 0, DeviceType::cpu);
  dry.step();
  return dry.groups();
}
std::int64_t needs(const RunConfig& config, const MeshShape& mesh, int ranks_on_node) {
  return nccl_needs(groups_of(config, mesh), config, ranks_on_node);
}

/// "world of 8: gathers agrees", one after the other.
std::vector<std::string> planned(const RunConfig& config, const MeshShape& mesh) {
  std::vector<std::string> all;
  for (const DryGroup& c : groups_of(config, mesh)) {
    if (c.ranks.size() == 1 && !config.parallel.one_rank_exchange) continue;
    all.push_back(fmt::format("{} of {}:{}{}{}{}", c.name, c.ranks.size(), c.traffic.gathers ? " gathers" : "",
                              c.traffic.reduces ? " reduces" : "", c.traffic.agrees ? " agrees" : "",
                              c.traffic.exchanges ? " exchanges" : ""));
  }
  return all;
}
using Planned = std::vector<std::string>;

TEST(NcclNeeds, GroupsOfEqualRanksAreOneCommunicator) {
  const RunConfig config = on_gpus();
  EXPECT_EQ(planned(config, {.dp_shard = 8}),
            (Planned{"world of 8: agrees", "dp_shard of 8: gathers", "dp_shard of 8: gathers"}));
  EXPECT_EQ(planned(config, {.dp_replicate = 8}), (Planned{"world of 8: reduces agrees"}));
  EXPECT_EQ(planned(config, {.dp_replicate = 4, .dp_shard = 2}),
            (Planned{"world of 8: agrees", "dp_replicate of 4: reduces agrees", "dp_shard of 2: agrees",
                     "dp_shard of 2: gathers", "dp_shard of 2: gathers"}));
  EXPECT_EQ(planned(config, {.tp = 8}), (Planned{"world of 8: gathers agrees exchanges"}));
  EXPECT_EQ(planned(config, {}), Planned{});
}

TEST(NcclNeeds, OptionsDecideWhatACommunicatorDoes) {
  RunConfig config = on_gpus();
  config.parallel.overlap = AutoBool::no;
  EXPECT_EQ(planned(config, {.dp_shard = 8}), (Planned{"world of 8: gathers agrees"}));
  config.parallel.gradient_wire = GradientForm::bf16;
  EXPECT_EQ(planned(config, {.dp_shard = 8}), (Planned{"world of 8: gathers agrees exchanges"}));
  config.parallel.overlap = AutoBool::automatic;
  EXPECT_EQ(planned(config, {.dp_shard = 8}),
            (Planned{"world of 8: agrees", "dp_shard of 8: gathers", "dp_shard of 8: exchanges"}));
  config = on_gpus();
  config.precision = Precision::fp32;
  EXPECT_EQ(planned(config, {.tp = 8}), (Planned{"world of 8: gathers agrees"}));
  config.parallel.async_tp = true;
  EXPECT_EQ(planned(config, {.tp = 8}), (Planned{"world of 8: gathers agrees", "tp of 8: exchanges"}));
  config = on_gpus();
  config.parallel.one_rank_exchange = true;
  EXPECT_EQ(planned(config, {}), (Planned{"world of 1: agrees", "dp_shard of 1: gathers", "dp_shard of 1: gathers"}));
}

TEST(NcclNeeds, AGroupWithSettingsOfItsOwnSharesNothing) {
  RunConfig config = on_gpus();
  config.nccl.dp_shard.max_ctas = 8;
  EXPECT_EQ(planned(config, {.dp_shard = 8}),
            (Planned{"world of 8: agrees", "dp_shard of 8:", "dp_shard of 8: gathers", "dp_shard of 8: gathers"}));
  const std::int64_t world = 230 + 24 * 12 + 24 * 2 * 12, made = 4 + 8 * 6 + 8 * 2 + 2, gathers = 8 * 12 + 8 * 2 * 8;
  EXPECT_EQ(needs(config, {.dp_shard = 8}, 8), (world + 3 * made + 2 * gathers) * mib);
}

TEST(NcclNeeds, TheLinksOfAPipelineTakeLessWithFewerThreadBlocks) {
  RunConfig config = on_gpus();
  const MeshShape mesh{.pp = 2};
  EXPECT_EQ(planned(config, mesh), (Planned{"world of 2: agrees", "pp_down of 2: exchanges", "pp_up of 2: exchanges"}));
  const std::int64_t any = needs(config, mesh, 8);
  config.nccl.pp.max_ctas = 4;
  const std::int64_t channel = 3 * 2 + 12;  // tables and a connection
  EXPECT_EQ(any - needs(config, mesh, 8), 2 * ((32 - 4) * channel + (16 - 4) * 2) * mib);
}

TEST(NcclNeeds, AreThoseOfAllCommunicators) {
  RunConfig config = on_gpus();
  const std::int64_t made = 230, gathers = 24 * 12 + 16 * 2 * 8, agrees = 24 * 12 + 24 * 2 * 12;
  EXPECT_EQ(needs(config, {.dp_shard = 8}, 8), (3 * made + agrees + 2 * gathers) * mib);
  EXPECT_EQ(needs(config, {.dp_replicate = 8, .tp = 8}, 8),
            nccl_bytes(64, 8, {}, {}) + nccl_bytes(8, 8, {}, {.reduces = true, .agrees = true}) +
                nccl_bytes(8, 1, {}, {.gathers = true, .agrees = true, .exchanges = true}))
      << "dp and dp_replicate lie across the nodes, replica and tp within one; nothing goes to the world";
  config.nccl.ranks_per_gpu = 2;
  EXPECT_EQ(needs(config, {.dp_replicate = 2}, 2), nccl_bytes(2, 2, {}, {.reduces = true, .agrees = true}));
  config.device = DeviceType::cpu;
  EXPECT_EQ(needs(config, {.dp_replicate = 2}, 2), 0);
}

TEST(NcclNeeds, MustFitBesideTheModel) {
  test::IdleGpu gpu(1000 * mib);
  MemoryPlan plan;
  plan[Purpose::parameters] = 700 * mib;
  EXPECT_EQ(memory_table(plan, nullptr).find("NCCL"), std::string::npos);
  plan.nccl = 300 * mib;
  EXPECT_NO_THROW(check_fits(plan, gpu, 1));
  plan.nccl += 1;
  try {
    check_fits(plan, gpu, 1);
    ADD_FAILURE() << "it fits";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::usage);
    EXPECT_NE(std::string(e.what()).find("  NCCL, estimated          300.0\n"), std::string::npos) << e.what();
  }
  EXPECT_EQ(plan.total(), 700 * mib) << "what the ledger counts";
}

TEST(NcclNeeds, AreThoseOfTheEnvironment) {
  RunConfig config = on_gpus();
  config.nccl.variables = {.connects_when_used = false, .buffer = 8 << 20};
  const std::int64_t each = nccl_bytes(8, 1, {}, {}, config.nccl.variables);
  EXPECT_EQ(needs(config, {.dp_shard = 8}, 8), 3 * each) << "all that are made, whatever they do";
  EXPECT_EQ(each, (230 + 24 * 16 + 24 * 2 * 16 + 16 * 2 * 8 + 32 * 16 / 2) * mib);
}

/// Of GPUs each rank has its own; all ranks of a node take of its host's memory.
TEST(MemoryOfANode, IsSharedByItsRanks) {
  test::IdleGpu gpu(1000 * mib);
  MemoryPlan plan;
  plan[Purpose::parameters] = 700 * mib;
  plan.host = cpu_device().available_bytes() / 2;
  EXPECT_NO_THROW(check_fits(plan, gpu, 1));
  EXPECT_TRUE(fits(plan, gpu, 1, 1));
  EXPECT_FALSE(fits(plan, gpu, 3, 1));
  EXPECT_THROW(check_fits(plan, gpu, 3), Error);
  plan.host = 0;
  EXPECT_TRUE(fits(plan, gpu, 8, 1));
  EXPECT_FALSE(fits(plan, gpu, 8, 2)) << "two ranks a GPU";
}

TEST(MemoryOfAPipeline, ItsWorstRankCountsWhatNcclTakes) {
  MemoryPlan first, second;
  first[Purpose::parameters] = 700 * mib;
  second[Purpose::parameters] = 600 * mib;
  EXPECT_EQ((PipelineMemory{{first, second}}.worst()), 0u);
  second.nccl = 200 * mib;
  EXPECT_EQ((PipelineMemory{{first, second}}.worst()), 1u);
}

}  // namespace
}  // namespace octet
