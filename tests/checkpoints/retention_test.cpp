#include "checkpoints/save/retention.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "checkpoints/format/format.h"
#include "src/base/error.h"
#include "tests/checkpoints/directory.h"

namespace octet::checkpoint {
namespace {

namespace fs = std::filesystem;
using test::Steps;

Steps steps_to_prune(const Steps& steps, std::int64_t verified, int keep_last, std::int64_t keep_every) {
  return checkpoint::steps_to_prune(steps, verified, keep_last, keep_every, [](std::int64_t) { return true; });
}

TEST(StepsToPrune, KeepsTheLastOnes) {
  const Steps steps{50, 10, 30, 20, 40};  // in any order
  EXPECT_EQ(steps_to_prune(steps, 50, 3, 0), (Steps{10, 20}));
  EXPECT_EQ(steps_to_prune(steps, 50, 1, 0), (Steps{10, 20, 30, 40}));
  EXPECT_EQ(steps_to_prune(steps, 50, 5, 0), Steps{});
  EXPECT_EQ(steps_to_prune(steps, 50, 100, 0), Steps{});
}

TEST(StepsToPrune, NeverTheVerifiedOne) {
  for (const int keep : {-1, 0, 1}) EXPECT_EQ(steps_to_prune(Steps{10, 20}, 20, keep, 0), Steps{10}) << keep;
  EXPECT_EQ(steps_to_prune(Steps{20}, 20, 1, 0), Steps{});
}

TEST(StepsToPrune, KeepsEveryNth) {
  EXPECT_EQ(steps_to_prune(Steps{0, 10, 20, 30, 40, 50, 60}, 60, 2, 20), (Steps{10, 30}));
}

TEST(StepsToPrune, OnlyWhatIsOlderThanTheVerifiedOne) {
  // 40 and 50 are of a run that fell back to 20 and has now saved 30.
  EXPECT_EQ(steps_to_prune(Steps{10, 20, 30, 40, 50}, 30, 2, 0), Steps{10});
  EXPECT_EQ(steps_to_prune(Steps{10, 20, 30}, 5, 1, 0), Steps{});
}

TEST(StepsToPrune, OneThatIsNotThereCountsAsTheNewest) {
  EXPECT_EQ(steps_to_prune(Steps{10, 20, 30}, 35, 2, 0), (Steps{10, 20}));
  EXPECT_EQ(steps_to_prune({}, 35, 2, 0), Steps{});
}

TEST(StepsToPrune, DamagedOnesDoNotCount) {
  const Steps steps{10, 20, 30, 40, 50};
  Steps asked;
  const auto prune = [&](int keep, const Steps& damaged, std::int64_t keep_every = 0) {
    asked.clear();
    return checkpoint::steps_to_prune(steps, 50, keep, keep_every, [&](std::int64_t s) {
      asked.push_back(s);
      return std::ranges::find(damaged, s) == damaged.end();
    });
  };
  EXPECT_EQ(prune(2, {40}), (Steps{10, 20}));
  EXPECT_EQ(asked, (Steps{40, 30}));
  EXPECT_EQ(prune(2, {40, 30}), Steps{10});
  EXPECT_EQ(prune(2, {40, 30, 20}), Steps{});
  EXPECT_EQ(asked, (Steps{40, 30, 20})) << "of 10 nothing depends";
  EXPECT_EQ(prune(2, {20, 10}), (Steps{10, 20, 30}));
  EXPECT_EQ(asked, Steps{40});
  EXPECT_EQ(prune(5, {}), Steps{});
  EXPECT_EQ(asked, Steps{}) << "all of them may stay, be they whole or not";
  EXPECT_EQ(prune(4, {}), Steps{10});
  EXPECT_EQ(asked, (Steps{40, 30, 20}));
  EXPECT_EQ(prune(1, {}), (Steps{10, 20, 30, 40}));
  EXPECT_EQ(asked, Steps{});
  EXPECT_EQ(prune(2, {40}, 20), Steps{10});
  EXPECT_EQ(prune(2, {}, 10), Steps{});
  EXPECT_EQ(asked, Steps{}) << "nothing may go";
}

TEST(RemoveCheckpoint, TakesItAwayWhole) {
  const test::TemporaryDirectory root;
  for (const std::int64_t step : {1, 2}) {
    fs::create_directories(root / directory_name(step) + "/inner");
    test::put_file(root / directory_name(step) + "/inner/file");
  }
  remove_checkpoint(root.path(), 1);
  EXPECT_FALSE(fs::exists(root / directory_name(1)));
  EXPECT_FALSE(fs::exists(root / temporary_name(1)));
  EXPECT_TRUE(fs::exists(root / directory_name(2) + "/inner/file"));
  EXPECT_THROW(remove_checkpoint(root.path(), 1), Error) << "is not there any more";
}

TEST(RemoveLeftovers, TakesUnfinishedCheckpointsAndNothingElse) {
  const test::TemporaryDirectory root;
  fs::create_directory(root / temporary_name(7));
  test::put_file(root / temporary_name(7) + "/" + file_name(0));
  test::put_file(root / temporary_name(8));
  const std::vector<std::string> others{directory_name(7), "notes.tmp", "step-7.tmp.txt", "tmp"};
  for (const std::string& name : others) fs::create_directory(root / name);
  EXPECT_EQ(remove_leftovers(root.path()), 2);
  EXPECT_FALSE(fs::exists(root / temporary_name(7)));
  EXPECT_FALSE(fs::exists(root / temporary_name(8)));
  for (const std::string& name : others) EXPECT_TRUE(fs::exists(root / name)) << name;
  EXPECT_EQ(remove_leftovers(root.path()), 0);
}

}  // namespace
}  // namespace octet::checkpoint
