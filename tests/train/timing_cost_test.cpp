// What timing the algorithms of a run would cost, and whether that is worth it.
#include "src/train/algorithms/timing_cost.h"

#include <gtest/gtest.h>

#include "src/run_config/options/model_file.h"
#include "src/train/algorithms/problem_list.h"

namespace octet {
namespace {

/// Timing of a real run: 8B on 8 GPUs for a thousand steps is worth it, for one, or ten of attention, it is not.
TEST(TimingCost, IsUnderOnePercentOfLongRuns) {
  RunConfig config;
  config.device = DeviceType::cuda;
  config.precision = Precision::float8;
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
