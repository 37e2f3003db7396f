// What a disk is asked before a save.
#include "checkpoints/save/disk_space.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoints/format/durable.h"
#include "checkpoints/format/format.h"
#include "tests/checkpoints/directory.h"
#include "tests/support/expect_has.h"

namespace octet::checkpoint::test {
namespace {

/// Metrics and logs must still find room where a checkpoint alone would fit.
TEST(DiskSpace, ASaveLeavesWhatIsReserved) {
  const TemporaryDirectory root;
  const std::int64_t too_much = 2 * free_bytes(root.path()) + (std::int64_t{1} << 30);
  EXPECT_TRUE(has_room(root.path(), 1, 0));
  EXPECT_FALSE(has_room(root.path(), 1, too_much));
  check_free_space(root.path(), 1, 0);
  EXPECT_HAS(error_of([&] { check_free_space(root.path(), 1, too_much); }, ExitCode::internal),
             "of them for logs and metrics; make room or keep fewer (docs/problems.md, \"The disk is full\")");
}

TEST(DiskSpace, WhatKeepEveryKeepsMakesNoRoom) {
  const TemporaryDirectory root;
  for (const std::int64_t step : {3, 4, 6, 8}) std::filesystem::create_directory(root / directory_name(step));
  EXPECT_EQ(count_prunable(root.path(), 0), 4);
  EXPECT_EQ(count_prunable(root.path(), 4), 2);
}

}  // namespace
}  // namespace octet::checkpoint::test
