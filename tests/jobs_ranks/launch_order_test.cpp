// Whether NCCL starts the operations of several communicators in the order in which the host gave them.
#include "jobs/ranks/launch_order.h"

#include <gtest/gtest.h>

namespace octet {
namespace {

TEST(LaunchOrder, IsKeptByNewReleasesThatAreAskedForIt) {
  EXPECT_EQ(launch_order_obstacle(22602, "1"), "");
  EXPECT_EQ(launch_order_obstacle(23007, "0x1"), "");
}

TEST(LaunchOrder, IsUnknownToOlderReleases) {
  EXPECT_EQ(launch_order_obstacle(22501, "1"), "NCCL is 2.25.1 and keeps no order of launches");
  EXPECT_EQ(launch_order_obstacle(21903, nullptr), "NCCL is 2.19.3 and keeps no order of launches");
}

TEST(LaunchOrder, IsOffWhereTheEnvironmentSaysSo) {
  for (const char* off : {"0", "", "no"}) {
    EXPECT_EQ(launch_order_obstacle(22809, off), "NCCL_LAUNCH_ORDER_IMPLICIT is not 1") << off;
  }
  EXPECT_EQ(launch_order_obstacle(22809, nullptr), "NCCL_LAUNCH_ORDER_IMPLICIT is not 1");
}

}  // namespace
}  // namespace octet
