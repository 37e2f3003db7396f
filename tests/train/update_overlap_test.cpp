// What the log says of where weights are updated.
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
const OptimizerConfig automatic = config_with(AutoBool::automatic), never = config_with(AutoBool::no);
const std::string after = "optimizer.beside_forward = auto: off: passes are graphs\n";
const std::string beside = "weights are updated beside the next step's forward pass";

TEST(UpdateOverlapLog, SaysOnceWhatStays) {
  const test::IdleGpu gpu(0, 132);
  for (const bool is_beside : {false, true}) {
    UpdateOverlap overlap(automatic, "", gpu);
    const std::string first = said([&] { overlap.log_changes(is_beside, true); });
    EXPECT_TRUE(
        first.ends_with(is_beside ? beside + ", on 16 of 132 multiprocessors; its GEMMs are chosen for 116\n" : after))
        << first;
    EXPECT_EQ(said([&] { overlap.log_changes(is_beside, true); }), "");
  }
}

/// Passes may stop being graphs in the middle of a run: the last word is where updates are from then on.
TEST(UpdateOverlapLog, SaysWhereUpdatesGoWhenPassesAreNoGraphsAnyMore) {
  const test::IdleGpu gpu(0, 132);
  UpdateOverlap overlap(automatic, "", gpu);
  EXPECT_TRUE(said([&] { overlap.log_changes(false, false); }).ends_with(after));
  const std::string second = said([&] { overlap.log_changes(true, false); });
  EXPECT_TRUE(
      second.ends_with(beside + " from now on, since passes are no graphs any more, on 16 of 132 multiprocessors\n"))
      << second;
  EXPECT_EQ(said([&] { overlap.log_changes(true, false); }), "");
}

TEST(UpdateOverlapLog, SaysWhatIsInTheWay) {
  const test::IdleGpu gpu;
  const std::string first = said([&] { EXPECT_FALSE(UpdateOverlap(automatic, "ranks wait", gpu).beside(false)); });
  EXPECT_TRUE(first.ends_with("optimizer.beside_forward = auto: off: ranks wait\n")) << first;
  UpdateOverlap not_asked(never, "ranks wait", gpu);
  EXPECT_EQ(said([&] { not_asked.log_changes(false, false); }), "");
}

TEST(UpdateOverlapLog, SaysNothingOfAPlan) {
  const auto dry = make_dry_device(DeviceType::cuda);
  EXPECT_EQ(said([&] {
              EXPECT_FALSE(UpdateOverlap(automatic, "ranks wait", *dry).beside(false));
              UpdateOverlap overlap(automatic, "", *dry);
              EXPECT_TRUE(overlap.beside(false));
              EXPECT_FALSE(overlap.beside(true));
              overlap.log_changes(true, true);
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
