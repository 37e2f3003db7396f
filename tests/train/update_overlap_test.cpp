// Where weights are updated, on which part of a GPU, and what the log says of it.
#include "src/train/step/update_overlap.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "src/train/step/trainer.h"
#include "tests/support/idle_gpu.h"

namespace octet {
namespace {

std::string said(const std::function<void()>& act) {
  testing::internal::CaptureStderr();
  act();
  return testing::internal::GetCapturedStderr();
}

OptimizerConfig config_with(AutoBool beside_forward) {
  OptimizerConfig config;
  config.beside_forward = beside_forward;
  return config;
}
const OptimizerConfig automatic = config_with(AutoBool::automatic), never = config_with(AutoBool::no),
                      always = config_with(AutoBool::yes);
const std::string beside = "weights are updated beside the next step's forward pass";

std::string off_for_graphs(const char* asked) {
  return fmt::format("optimizer.beside_forward = {}: off: passes are graphs\n", asked);
}

TEST(GpuSplit, GivesAnUpdateSixteenOf132) {
  OptimizerConfig config;
  const auto of_update = [&](std::int64_t of_device) { return gpu_split(config, 1, of_device).update; };
  EXPECT_EQ(of_update(132), 16);
  EXPECT_EQ(of_update(108), 14);
  EXPECT_EQ(of_update(148), 18) << "even";
  EXPECT_EQ(of_update(0), 0) << "of a CPU";
  config.beside_multiprocessors = 48;
  EXPECT_EQ(of_update(132), 48);
  EXPECT_EQ(of_update(16), 16);
}

TEST(GpuSplit, GivesGemmsTheOthers) {
  OptimizerConfig config = always;
  const auto of_gemms = [&](std::int64_t of_device) { return gpu_split(config, 1, of_device).gemms; };
  EXPECT_EQ(of_gemms(132), 116);
  EXPECT_EQ(of_gemms(0), 0) << "of a CPU";
  config.beside_multiprocessors = 66;
  EXPECT_EQ(of_gemms(132), 66);
  config.beside_multiprocessors = 68;
  EXPECT_EQ(of_gemms(132), 0) << "less than half is left: all";
}

TEST(GpuSplit, LeavesRoomByTheConfigurationAlone) {
  const auto leaves_room = [](AutoBool beside_forward, BesideGemms gemms, int shards) {
    OptimizerConfig config = config_with(beside_forward);
    config.beside_gemms = gemms;
    const GpuSplit split = gpu_split(config, shards, 132);
    EXPECT_EQ(split.update, 16) << "with whatever GEMMs";
    return split.gemms != 0;
  };
  EXPECT_TRUE(leaves_room(AutoBool::yes, BesideGemms::automatic, 1));
  EXPECT_FALSE(leaves_room(AutoBool::yes, BesideGemms::automatic, 2)) << "the update is short";
  EXPECT_TRUE(leaves_room(AutoBool::yes, BesideGemms::free, 2));
  EXPECT_FALSE(leaves_room(AutoBool::yes, BesideGemms::all, 1));
  EXPECT_FALSE(leaves_room(AutoBool::automatic, BesideGemms::automatic, 1)) << "passes may be graphs";
  EXPECT_FALSE(leaves_room(AutoBool::no, BesideGemms::automatic, 1));
}

/// The GEMMs' part does not depend on where the update of a step goes.
TEST(UpdateOverlapSplit, IsTheUpdatesWhereItIsBeside) {
  const test::IdleGpu gpu(0, 132);
  said([&] {
    UpdateOverlap overlap(always, 1, "", gpu);
    const GpuSplit split{.update = 16, .gemms = 116};
    EXPECT_EQ(overlap.split(), split);
    EXPECT_EQ(overlap.decide(true), std::nullopt);
    EXPECT_EQ(overlap.split(), split);
    EXPECT_EQ(overlap.decide(false), split);
    UpdateOverlap in_the_way(always, 1, "ranks wait", gpu);
    EXPECT_EQ(in_the_way.split(), split);
    EXPECT_EQ(in_the_way.decide(false), std::nullopt);
  });
}

TEST(UpdateOverlapLog, SaysOnceWhatStays) {
  const test::IdleGpu gpu(0, 132);
  for (const bool graphs : {false, true}) {
    UpdateOverlap overlap(always, 1, "", gpu);
    const std::string first = said([&] { overlap.decide(graphs); });
    EXPECT_TRUE(first.ends_with(graphs ? off_for_graphs("true")
                                       : beside + ", on 16 of 132 multiprocessors; its GEMMs are chosen for 116\n"))
        << first;
    EXPECT_EQ(said([&] { overlap.decide(graphs); }), "");
  }
}

/// Passes may stop being graphs in the middle of a run: the last word is where updates are from then on.
TEST(UpdateOverlapLog, SaysWhereUpdatesGoWhenPassesAreNoGraphsAnyMore) {
  const test::IdleGpu gpu(0, 132);
  UpdateOverlap overlap(automatic, 1, "", gpu);
  EXPECT_TRUE(said([&] { overlap.decide(true); }).ends_with(off_for_graphs("auto")));
  const std::string second = said([&] { overlap.decide(false); });
  EXPECT_TRUE(
      second.ends_with(beside + " from now on, since passes are no graphs any more, on 16 of 132 multiprocessors\n"))
      << second;
  EXPECT_EQ(said([&] { overlap.decide(false); }), "");
}

TEST(UpdateOverlapLog, SaysWhatIsInTheWay) {
  const test::IdleGpu gpu;
  const std::string first = said([&] { EXPECT_FALSE(UpdateOverlap(automatic, 1, "ranks wait", gpu).decide(false)); });
  EXPECT_TRUE(first.ends_with("optimizer.beside_forward = auto: off: ranks wait\n")) << first;
  EXPECT_EQ(said([&] { EXPECT_FALSE(UpdateOverlap(never, 1, "ranks wait", gpu).decide(false)); }), "");
}

TEST(UpdateOverlapLog, SaysNothingOfAPlan) {
  const auto dry = make_dry_device(DeviceType::cuda);
  EXPECT_EQ(said([&] {
              EXPECT_FALSE(UpdateOverlap(automatic, 1, "ranks wait", *dry).decide(false));
              UpdateOverlap overlap(automatic, 1, "", *dry);
              EXPECT_FALSE(overlap.decide(true));
              EXPECT_TRUE(overlap.decide(false));
            }),
            "");
}

/// A trainer tells it for every step.
TEST(UpdateOverlapLog, HasItOfARun) {
  RunConfig config;
  config.model = {.name = "small",
                  .dim = 32,
                  .layers = 1,
                  .heads = 2,
                  .kv_heads = 2,
                  .head_dim = 16,
                  .ffn_dim = 32,
                  .vocab_size = 32};
  config.precision = Precision::fp32;
  config.train.seq_len = 16;
  config.train.micro_batch = config.train.global_batch = 1;
  config.optimizer.beside_forward = AutoBool::yes;
  const auto stream = cpu_device().make_stream();
  Mesh mesh(make_self_communicator(*stream, "world"), {});
  const auto control = make_self_communicator(*stream, "control");
  const DryBatches batches(1, config.train.seq_len);
  const std::string log = said([&] {
    Trainer trainer(config, batches, mesh, *control, *stream, nullptr);
    for (std::int64_t step = 1; step <= 3; ++step) {
      trainer.launch(step);
      trainer.collect();
    }
  });
  const std::size_t first = log.find(beside + "\n");
  EXPECT_NE(first, std::string::npos) << log;
  EXPECT_EQ(log.find(beside, first + 1), std::string::npos) << log;
}

}  // namespace
}  // namespace octet
