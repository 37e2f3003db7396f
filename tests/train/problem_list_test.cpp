// The GEMMs that a dry run lists before the first step are those of the steps, and what timing them would cost.
#include "src/train/algorithms/problem_list.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <tuple>

#include "kernels/gemm_timing.h"
#include "src/model/float8_gemms.h"
#include "src/ops/recipes/recipe_list.h"
#include "src/run_config/options/model_file.h"
#include "src/train/algorithms/timing_cost.h"
#include "src/train/plan/dry_run.h"

namespace octet {
namespace {

RunConfig small_run() {
  RunConfig config;
  config.device = DeviceType::cuda;
  config.precision = Precision::float8;
  config.model.dim = 512;
  config.model.layers = 2;
  config.model.heads = 4;
  config.model.kv_heads = 2;
  config.model.head_dim = 128;
  config.model.ffn_dim = 1536;
  config.model.vocab_size = 1024;
  config.model.finish();
  config.train.seq_len = 512;
  config.train.micro_batch = 2;
  config.train.global_batch = 16;
  return config;
}

using Extents = std::tuple<std::int64_t, std::int64_t, std::int64_t, DType, DType, DType>;

/// From the trace that linears write themselves, of a run without anything else in common with the list.
std::set<Extents> traced(const RunConfig& config, const MeshShape& mesh, double& flops_of_a_step) {
  DryRun dry(config, mesh, 0, DeviceType::cpu);
  dry.step();
  flops_of_a_step = 0;
  std::set<Extents> all;
  for (const GemmTrace::Record& r : dry.gemms().records()) {
    all.insert({r.m, r.n, r.k, r.a, r.b, r.c});
    flops_of_a_step += 2.0 * static_cast<double>(r.m) * static_cast<double>(r.n) * static_cast<double>(r.k);
  }
  return all;
}

std::set<Extents> listed(const ProblemList& list) {
  std::set<Extents> all;
  for (const Gemm& g : list.gemms) all.insert({g.m, g.n, g.k, g.a.dtype, g.b.dtype, g.c_dtype});
  return all;
}

TEST(ProblemList, HasTheGemmsThatLinearsTrace) {
  for (const std::string& recipe : float8_recipe_names()) {
    for (const int tp : {1, 2}) {
      SCOPED_TRACE(fmt::format("{}, tp {}", recipe, tp));
      RunConfig config = small_run();
      config.float8.recipe = recipe;
      config.parallel.tp = tp;
      const MeshShape mesh{.dp_shard = 2, .tp = tp};
      const ProblemList list = problems_of_run(config, mesh, 0, DeviceType::cpu);
      double flops = 0;
      EXPECT_EQ(listed(list), traced(config, mesh, flops));
      EXPECT_DOUBLE_EQ(list.gemm_flops, flops) << "4 micro-batches, of which 2 are run";
    }
  }
}

/// Weight gradients are stored by the first micro-batch and added to by the next one: two problems for the library.
TEST(ProblemList, HasEachKindOnce) {
  const ProblemList list = problems_of_run(small_run(), {.dp_shard = 2}, 0, DeviceType::cpu);
  std::set<std::string> texts;
  int added = 0;
  for (const Gemm& g : list.gemms) {
    const auto address = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 256; };
    EXPECT_TRUE(texts
                    .insert(fmt::format("{} beta {} fast {} at {} {} {}", text_of(g), g.beta, g.fast_accumulate,
                                        address(g.a.data), address(g.b.data), address(g.c)))
                    .second)
        << text_of(g);
    if (g.beta != 0) ++added;
    EXPECT_EQ(is_float8(g.a.dtype), g.a.inverse_scale != nullptr);
  }
  EXPECT_GT(added, 0);
  EXPECT_LT(added, std::ssize(list.gemms));
}

/// Timing of a real run: 8B on 8 GPUs for a thousand steps is worth it, for one, or ten of attention, it is not.
TEST(TimingCost, IsUnderOnePercentOfLongRuns) {
  RunConfig config = small_run();
  config.model = read_model(OCTET_SOURCE_DIR "/configs/models/8b.yaml");
  config.train.seq_len = 4096;
  config.train.micro_batch = 1;
  config.train.global_batch = 64;
  const ProblemList list = problems_of_run(config, {.dp_shard = 8}, 0, DeviceType::cpu);
  std::vector<double> untimed;
  for (const Gemm& gemm : list.gemms) untimed.push_back(gemm.flops());
  EXPECT_TRUE(timing_cost(untimed, 0, 8, list.step_flops(), 1000).worthwhile());
  EXPECT_FALSE(timing_cost(untimed, 0, 8, list.step_flops(), 1).worthwhile());
  untimed.clear();
  for (const AttentionProblem& problem : list.attention) untimed.push_back(problem.flops());
  const double building = attention_building_flops("NVIDIA H100 80GB HBM3");
  EXPECT_TRUE(timing_cost(untimed, building, 8, list.step_flops(), 1000).worthwhile());
  EXPECT_FALSE(timing_cost(untimed, building, 8, list.step_flops(), 10).worthwhile());
  EXPECT_TRUE(timing_cost(untimed, 0, 8, list.step_flops(), 10).worthwhile()) << "trials alone are the least of it";
}

/// Two passes a block and micro-batch, forward once more where blocks are computed again; a validation's are the same.
TEST(ProblemList, HasAttentionOnceAndItsFlopsForEachBlock) {
  for (const int tp : {1, 2}) {
    RunConfig config = small_run();
    config.parallel.tp = tp;
    const ProblemList list = problems_of_run(config, {.dp_shard = 2, .tp = tp}, 0, DeviceType::cpu);
    std::vector<std::string> texts;
    for (const AttentionProblem& problem : list.attention) texts.push_back(text_of(problem));
    const std::int64_t heads = 4 / tp, kv_heads = 2 / tp;
    const std::string sizes =
        fmt::format("b2 s512 h{}/{} d128 scale {:.9g} bf16", heads, kv_heads, 1 / std::sqrt(128.0f));
    EXPECT_EQ(texts, (std::vector<std::string>{"forward " + sizes, "backward " + sizes}));
    const double forward =
        4.0 * 2 * static_cast<double>(heads) * 128 * 512 * 512;  // two products over the whole square
    EXPECT_DOUBLE_EQ(list.attention_flops, 2 * 4 * (forward + 2 * forward)) << "2 blocks, 4 micro-batches of 2";
  }
}

TEST(TimingCost, IsSharedAndComparedWithWhatIsLeft) {
  const std::vector<double> flops = {100, 400};
  const TimingCost one = timing_cost(flops, 0, 1, 1e6, 3);
  EXPECT_EQ(one.timing, 500.0 * 8 * 7);
  EXPECT_EQ(one.left, 3e6);
  EXPECT_TRUE(one.worthwhile());  // 28,000 of 3,000,000
  EXPECT_FALSE(timing_cost(flops, 0, 1, 1e6, 2).worthwhile());
  EXPECT_EQ(timing_cost(flops, 0, 2, 1e6, 2).timing, 400.0 * 8 * 7) << "one of them has the larger one";
  EXPECT_EQ(timing_cost({100, 100, 100, 100}, 0, 2, 1e6, 2).timing, 200.0 * 8 * 7);
  EXPECT_FALSE(timing_cost(flops, 0, 1, 1e6, 0).worthwhile());
  EXPECT_TRUE(timing_cost({}, 0, 1, 1e6, 1).worthwhile());
}

/// Just under and over the limit, 1 %; with few trials it is the building that decides.
TEST(TimingCost, CountsTheBuildingOfEachProblemsPlans) {
  EXPECT_EQ(timing_cost({100, 400}, 5e5, 1, 1e6, 3).timing, 500.0 * 8 * 7 + 1e6);
  EXPECT_EQ(timing_cost({100, 400}, 5e5, 2, 1e6, 3).timing, 400.0 * 8 * 7 + 5e5) << "one builds for each";
  EXPECT_FALSE(timing_cost({100, 400}, 5e5, 1, 1e6, 102).worthwhile());  // 1,028,000 of 102,000,000
  EXPECT_TRUE(timing_cost({100, 400}, 5e5, 1, 1e6, 103).worthwhile());
  EXPECT_EQ(timing_cost({}, 5e5, 1, 1e6, 3).timing, 0);
}

TEST(TimingCost, BuildingTakesASecondOfTheSheetsPeak) {
  EXPECT_DOUBLE_EQ(attention_building_flops("NVIDIA A100-SXM4-80GB"), 312e12);
  EXPECT_DOUBLE_EQ(attention_building_flops("NVIDIA H100 80GB HBM3"), 989e12);
  EXPECT_DOUBLE_EQ(attention_building_flops("a GPU of no sheet"), 989e12);
}

}  // namespace
}  // namespace octet
