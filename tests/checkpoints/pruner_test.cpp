#include "checkpoints/pruner.h"

#include <gtest/gtest.h>

#include "checkpoints/restore.h"
#include "tests/checkpoints/directory.h"
#include "tests/checkpoints/small_checkpoint.h"

namespace octet::checkpoint {
namespace {

using Steps = std::vector<std::int64_t>;

/// Checkpoints of steps 10, 20, 30 and 40, of which two shall stay.
class Pruning : public testing::Test {
 protected:
  Pruning() {
    for (const std::int64_t step : {10, 20, 30, 40}) test::write_small(at(step), step);
  }

  std::string at(std::int64_t step) const { return root_ / directory_name(step); }
  std::string file(std::int64_t step) const { return at(step) + "/writer-00001.h5"; }

  Steps left() const {
    Steps steps;
    for (const std::string& path : list_checkpoints(root_.path())) steps.push_back(step_of(path).value());
    return steps;
  }

  /// After the commit of step 40; what it logs.
  std::string prune_after_40() {
    testing::internal::CaptureStderr();
    prune(rule_, 40, known_, stop_);
    return testing::internal::GetCapturedStderr();
  }

  test::TemporaryDirectory root_;
  PruneRule rule_{.root = root_.path(), .keep_last = 2};
  Judgement known_{{40, true}};
  std::atomic<bool> stop_ = false;
};

TEST_F(Pruning, WhatIsOlderThanTheLastWholeOnesGoes) {
  EXPECT_EQ(prune_after_40(), "");
  EXPECT_EQ(left(), (Steps{40, 30}));
  EXPECT_EQ(known_, (Judgement{{30, true}, {40, true}}));
}

TEST_F(Pruning, OneWithAFlippedBitDoesNotCount) {
  test::flip_bit(file(30), 5000);
  const std::string said = prune_after_40();
  EXPECT_PRED2(test::contains, said, at(30) + ": ");
  EXPECT_PRED2(test::contains, said, "writer-00001.h5: found hash ");
  EXPECT_PRED2(test::contains, said, "does not count for checkpoint.keep");
  EXPECT_EQ(left(), (Steps{40, 30, 20}));
  EXPECT_EQ(prune_after_40(), "") << "is known";
  EXPECT_EQ(left(), (Steps{40, 30, 20}));
}

TEST_F(Pruning, NorDoThoseThatAreDamagedAtAGlance) {
  std::filesystem::remove(file(30));
  test::flip_bit(at(20) + "/manifest.json", 40);
  known_[30] = known_[20] = true;  // they were whole once
  const std::string said = prune_after_40();
  EXPECT_PRED2(test::contains, said, at(30) + ": ");
  EXPECT_PRED2(test::contains, said, "writer-00001.h5: is missing");
  EXPECT_PRED2(test::contains, said, at(20) + "/manifest.json");
  EXPECT_EQ(left(), (Steps{40, 30, 20, 10}));
}

TEST_F(Pruning, WhatIsKnownToBeWholeIsNotReadAgain) {
  known_[30] = true;
  stop_ = true;  // would end a reading
  prune_after_40();
  EXPECT_EQ(left(), (Steps{40, 30}));
}

TEST_F(Pruning, WithoutTimeToReadNothingGoes) {
  stop_ = true;
  EXPECT_PRED2(test::contains, prune_after_40(), "old checkpoints stay");
  EXPECT_EQ(left(), (Steps{40, 30, 20, 10}));
  EXPECT_EQ(known_, (Judgement{{40, true}}));
}

TEST_F(Pruning, OneThatCannotBeRemovedDoesNotKeepTheNext) {
  test::put_file(root_ / temporary_name(10));  // in the way
  EXPECT_PRED2(test::contains, prune_after_40(), "could not be removed");
  EXPECT_EQ(left(), (Steps{40, 30, 10}));
}

TEST_F(Pruning, InTheBackgroundByTheTimeItIsFinished) {
  rule_.keep_last = 1;
  {
    Pruner pruner(rule_, {});
    for (const std::int64_t step : {10, 20, 30}) pruner.committed(step);
    pruner.finish();
    EXPECT_EQ(left(), (Steps{40, 30}));
    pruner.committed(40);
    pruner.finish();
  }
  EXPECT_EQ(left(), Steps{40});
}

TEST_F(Pruning, InTheBackgroundADamagedOneDoesNotCountEither) {
  test::flip_bit(file(30), 5000);
  testing::internal::CaptureStderr();
  Pruner pruner(rule_, {});
  pruner.committed(40);
  pruner.finish();
  EXPECT_PRED2(test::contains, testing::internal::GetCapturedStderr(), "does not count for checkpoint.keep");
  EXPECT_EQ(left(), (Steps{40, 30, 20}));
}

}  // namespace
}  // namespace octet::checkpoint
