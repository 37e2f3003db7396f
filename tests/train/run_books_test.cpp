// The files that a run keeps of itself, each alone: what refuses and what is counted.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "src/train/run/metrics_book.h"
#include "src/train/run/status_book.h"
#include "tests/checkpoints/file_size_limit.h"
#include "tests/support/temp_folder.h"

namespace octet {
namespace {

/// As on a disk that has room for what is said and for nothing more in the file of metrics.
TEST(MetricsBook, WhatTheDiskRefusesIsSaidOnceAndLostOnce) {
  constexpr std::size_t full = 64 << 10;
  const test::TempFolder folder;
  std::ofstream(folder / "metrics.jsonl") << std::string(full, '\n');
  MetricsBook book({.path = folder.path()});
  book.sync();  // nothing is open
  book.open(std::nullopt);
  EXPECT_FALSE(book.lost());
  testing::internal::CaptureStderr();
  std::optional<Failure> lost;
  {
    const checkpoint::test::FileSizeLimit limit(full);
    book.record({});
    book.record({});
    lost = book.lost();
  }
  const std::string said = testing::internal::GetCapturedStderr();
  const std::string kept = "metrics are kept in memory until they can be written";
  EXPECT_NE(said.find(kept), std::string::npos) << said;
  EXPECT_EQ(said.find(kept), said.rfind(kept)) << said;
  ASSERT_TRUE(lost);
  EXPECT_NE(lost->text.find("metrics of the last steps are lost"), std::string::npos) << lost->text;
  EXPECT_FALSE(book.lost());
  EXPECT_FALSE(std::filesystem::exists(folder / "tensorboard"));
}

TEST(StatusBook, NamesTheNewestCheckpointAndCountsTheStart) {
  const test::TempFolder folder;
  RunDirectory directory{.path = folder.path()};
  {
    StatusBook first(directory, 8);
    first.begin({});
    EXPECT_FALSE(first.count_restart());
    first.committed(
        {.step = 4, .stall_seconds = 1, .write_seconds = 2, .path = directory.checkpoints() + "/step-000004"});
    first.write("stopped", "SIGTERM", 75, 5);
  }
  directory.resumes = true;
  StatusBook second(directory, 8);
  second.begin({.step = 4, .checkpoint = directory.checkpoints() + "/step-000004"});
  EXPECT_EQ(second.restarts(), 0);
  EXPECT_TRUE(second.count_restart());
  second.tell_restart();
  const RunStatus status = read_status(directory.status()).value();
  EXPECT_EQ(status.state, "running");
  EXPECT_EQ(status.restarts, 1);
  EXPECT_EQ(status.step, 4);
  EXPECT_EQ(status.checkpoint, directory.checkpoints() + "/step-000004");
  EXPECT_EQ(status.checkpoint_seconds, 3);
}

}  // namespace
}  // namespace octet
