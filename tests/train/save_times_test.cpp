#include "src/train/run/save_times.h"

#include <gtest/gtest.h>

namespace octet {
namespace {

TEST(SaveTimes, BeforeTheFirstCommitAgesCountFromTheStart) {
  SaveTimes times(40);
  EXPECT_EQ(times.age(47).steps, 7);
  EXPECT_GE(times.age(47).seconds, 0);
  times.begun(50);
  EXPECT_EQ(times.failed(53).steps, 10) << "when it began, not when it failed";
  EXPECT_EQ(times.failed(53).steps, 13) << "none had begun";
}

TEST(SaveTimes, ThenFromTheStateThatWasCommitted) {
  SaveTimes times(0);
  times.begun(10);
  times.begun(20);
  times.committed(10);
  EXPECT_EQ(times.age(25).steps, 15);
  EXPECT_EQ(times.failed(30).steps, 10) << "of step 20";
  times.begun(30);
  times.committed(30);
  EXPECT_EQ(times.age(30).steps, 0);
  times.committed(99);
  EXPECT_EQ(times.age(30).steps, 0) << "a step that never began";
}

}  // namespace
}  // namespace octet
