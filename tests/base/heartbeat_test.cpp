#include "src/base/heartbeat.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace octet {
namespace {

TEST(Heartbeat, CountsWhatTheWatchedThreadBegins) {
  heartbeat::begin("before it is watched");
  const std::uint64_t before = heartbeat::count();
  heartbeat::watch(true);
  heartbeat::begin("gemm");
  EXPECT_EQ(heartbeat::count(), before + 1);
  EXPECT_STREQ(heartbeat::last(), "gemm");
  heartbeat::begin("gemm");
  EXPECT_EQ(heartbeat::count(), before + 2) << "the same again is progress";
  heartbeat::watch(false);
  heartbeat::begin("adamw");
  EXPECT_EQ(heartbeat::count(), before + 2);
}

TEST(Heartbeat, OtherThreadsDoNotHideThatItHangs) {
  heartbeat::watch(true);
  heartbeat::begin("gemm");
  const std::uint64_t before = heartbeat::count();
  std::thread([] { heartbeat::begin("write of a checkpoint"); }).join();
  EXPECT_EQ(heartbeat::count(), before);
  EXPECT_STREQ(heartbeat::last(), "gemm");
  heartbeat::watch(false);
}

}  // namespace
}  // namespace octet
