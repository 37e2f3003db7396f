#include "src/train/run/wall_clock.h"

#include <gtest/gtest.h>

namespace octet {
namespace {

TEST(WallClock, ComparesWithWhatIsLeft) {
  const double now = WallClock::seconds();
  EXPECT_GE(now, 0);
  EXPECT_FALSE(WallClock(0).is_too_late_for(1e9));  // no limit
  EXPECT_FALSE(WallClock(now + 1000).is_too_late_for(1));
  EXPECT_TRUE(WallClock(now + 1000).is_too_late_for(1000));
  EXPECT_TRUE(WallClock(1e-9).is_too_late_for(0));
}

}  // namespace
}  // namespace octet
