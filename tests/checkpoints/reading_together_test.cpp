// Old checkpoints are read by all ranks together, each file once, and no file twice in a run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "checkpoints/save/pruner.h"
#include "tests/checkpoints/saver_fixture.h"

namespace octet::checkpoint {
namespace {

namespace fs = std::filesystem;
using test::Steps;

class ReadingTogether : public test::SaverTest {
 protected:
  ReadingTogether() {
    Saver saver = make_saver(100);
    for (const std::int64_t step : {10, 20, 30, 40}) save(saver, step);
    world_->barrier();
  }

  /// A number of each rank, by rank.
  std::vector<std::int64_t> of_all(std::int64_t mine) {
    std::vector<std::int64_t> all;
    for (const std::string& bytes :
         gather_bytes(std::string(reinterpret_cast<const char*>(&mine), sizeof mine), *world_)) {
      std::memcpy(&all.emplace_back(), bytes.data(), sizeof mine);
    }
    return all;
  }
  std::int64_t bytes_of(std::int64_t step) const {
    std::int64_t bytes = 0;
    for (const StoredFile& file : read_manifest(path_of(step)).files) bytes += file.bytes;
    return bytes;
  }
  void prune_after(std::int64_t step, Pruner& pruner) {
    Verdicts::Files files;
    if (rank() == 0) files = Verdicts::look_at(path_of(step), read_manifest(path_of(step)).files);
    pruner.committed(step, std::move(files));
    pruner.finish();
  }
};

TEST_F(ReadingTogether, EachFileByOneRankAndOnce) {
  Pruner pruner({.root = root_, .keep_last = 3}, {}, *world_);
  prune_after(40, pruner);
  EXPECT_EQ(steps(), (Steps{40, 30, 20}));
  const std::vector<std::int64_t> read = of_all(pruner.bytes_read());
  EXPECT_EQ(std::accumulate(read.begin(), read.end(), std::int64_t{0}), bytes_of(30) + bytes_of(20));
  for (const std::int64_t bytes : read) EXPECT_GT(bytes, 0) << "every rank has a share";
  prune_after(40, pruner);
  EXPECT_EQ(of_all(pruner.bytes_read()), read) << "what was read stays known";
}

TEST_F(ReadingTogether, WhatAStartHasReadIsKnown) {
  const std::optional<Found> found = find();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->directory, path_of(40));
  EXPECT_EQ(found->verdicts.find(path_of(40)).has_value(), rank() == 0);
  {
    Saver saver({.root = root_, .keep_last = 2, .known = found->verdicts}, *world_, *stream_);
    save(saver, 50);
    EXPECT_EQ(of_all(saver.bytes_read()), std::vector<std::int64_t>(static_cast<std::size_t>(size()), 0));
  }
  EXPECT_EQ(steps(), (Steps{50, 40}));
}

TEST_F(ReadingTogether, DamageInEveryShareIsTold) {
  on_rank_0([&] {
    for (int writer = 0; writer < size(); ++writer) test::flip_bit(path_of(30) + "/" + file_name(writer), 1000);
  });
  testing::internal::CaptureStderr();
  Pruner pruner({.root = root_, .keep_last = 2}, {}, *world_);
  prune_after(40, pruner);
  const std::string said = testing::internal::GetCapturedStderr();
  for (int writer = 0; writer < std::min(size(), 3); ++writer) {
    EXPECT_EQ(test::contains(said, path_of(30) + "/" + file_name(writer) + ": found hash "), rank() == 0) << said;
  }
  EXPECT_EQ(test::contains(said, fmt::format("; and {} more file", size() - 3)), rank() == 0 && size() > 3) << said;
  EXPECT_EQ(steps(), (Steps{40, 30, 20}));
}

}  // namespace
}  // namespace octet::checkpoint
