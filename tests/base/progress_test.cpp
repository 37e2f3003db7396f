#include "src/base/progress.h"

#include <gtest/gtest.h>

namespace octet {
namespace {

TEST(TimeLeft, IsThatOfTheRestAtTheSamePace) {
  EXPECT_EQ(time_left(0.25, 10), ", 30 s left");
  EXPECT_EQ(time_left(0, 10), "") << "nothing is done yet";
  EXPECT_EQ(time_left(1, 10), "");
}

}  // namespace
}  // namespace octet
