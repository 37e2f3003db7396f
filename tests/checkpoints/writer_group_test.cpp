// A few ranks of a node write for all of it.
#include "checkpoints/save/save_share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/checkpoints/saver_fixture.h"

namespace octet::checkpoint {
namespace {

class WriterGroups : public test::SaverTest {};

/// Groups of the ranks of a node in order.
std::vector<int> groups(int ranks, int writers) {
  std::vector<int> all;
  all.reserve(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) all.push_back(group_of(r, ranks, writers));
  return all;
}

TEST_F(WriterGroups, AreNeighboursInEqualParts) {
  EXPECT_EQ(groups(4, 1), (std::vector<int>{0, 0, 0, 0}));
  EXPECT_EQ(groups(4, 2), (std::vector<int>{0, 0, 1, 1}));
  EXPECT_EQ(groups(4, 3), (std::vector<int>{0, 0, 1, 2}));
  EXPECT_EQ(groups(4, 4), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(groups(4, 9), (std::vector<int>{0, 1, 2, 3}));
  for (int ranks = 1; ranks <= 20; ++ranks) {
    for (int writers = 1; writers <= ranks; ++writers) {
      const std::vector<int> all = groups(ranks, writers);
      EXPECT_TRUE(std::ranges::is_sorted(all));
      EXPECT_EQ(std::set<int>(all.begin(), all.end()).size(), static_cast<std::size_t>(writers));
      for (int g = 0; g < writers; ++g) {
        const auto members = std::ranges::count(all, g);
        EXPECT_GE(members, ranks / writers);
        EXPECT_LE(members, ranks / writers + 1);
      }
    }
  }
}

TEST_F(WriterGroups, TheFirstOfEachWrites) {
  const WriterGroup every = make_writer_group(0, *world_);
  EXPECT_TRUE(every.writer.empty());
  EXPECT_EQ(every.ranks, nullptr);
  for (int writers = 1; writers <= size() + 1; ++writers) {
    const WriterGroup group = make_writer_group(writers, *world_);
    ASSERT_EQ(group.writer.size(), static_cast<std::size_t>(size()));
    const std::vector<int> parts = groups(size(), writers);
    for (int r = 0; r < size(); ++r) {
      const int first = static_cast<int>(std::ranges::find(parts, parts[static_cast<std::size_t>(r)]) - parts.begin());
      EXPECT_EQ(group.writer[static_cast<std::size_t>(r)], first);
    }
    const auto members = std::ranges::count(parts, parts[static_cast<std::size_t>(rank())]);
    EXPECT_EQ(group.ranks == nullptr ? 1 : group.ranks->size(), members);
  }
}

TEST_F(WriterGroups, WriteOneFileEachAndTheSameTensors) {
  for (int writers = 0; writers <= size() + 1; ++writers) {
    SCOPED_TRACE(writers);
    writers_per_node_ = writers;
    Saver saver = make_saver();
    for (std::int64_t step = 1; step <= 3; ++step) save(saver, step);  // the memory is used again
    const std::optional<Found> found = find();
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->manifest.state, test::state_at(3));
    const int files = writers == 0 ? size() : std::min(writers, size());
    ASSERT_EQ(found->manifest.files.size(), static_cast<std::size_t>(files));
    EXPECT_EQ(found->manifest.files.front().name, file_name(0));
    for (const int shards : {1, 2, 3, 5}) EXPECT_EQ(test::wrong_tensor(*found, shards), std::nullopt) << shards;
  }
}

TEST_F(WriterGroups, LeaveAMemberAloneUntilItsPiecesAreWritten) {
  writers_per_node_ = 1;
  Saver saver = make_saver();
  for (std::int64_t step = 1; step <= 6; ++step) {
    start(saver, step);
    saver.wait();
  }
  saver.finish();
  ASSERT_EQ(steps(), (test::Steps{6, 5, 4}));  // what retention keeps
  for (const std::string& path : list_checkpoints(root_)) {
    Manifest manifest;
    ASSERT_EQ(verify(path, manifest, *world_), std::nullopt);
    EXPECT_EQ(test::wrong_tensor({path, manifest}, 2), std::nullopt) << path;
  }
}

TEST_F(WriterGroups, MemoryGrowsWithThePieces) {
  writers_per_node_ = 1;
  Saver saver = make_saver();
  save(saver, 1);
  const std::vector<float> more(static_cast<std::size_t>(1000 * (rank() + 1)), 1.5f);
  std::vector<DevicePiece> pieces = mine_->pieces();
  const auto rows = static_cast<std::int64_t>(more.size());
  pieces.push_back({{fmt::format("master/more.{}", rank()), DType::f32, {rows}}, {{}, {rows}}, more.data()});
  mine_->set(2);
  saver.start(test::state_at(2), pieces);
  saver.finish();
  const std::optional<Found> found = find();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(test::wrong_tensor(*found, 3), std::nullopt);
  std::vector<float> read(more.size());
  const std::vector<WantedPiece> wanted{{pieces.back().tensor.name, pieces.back().box, read.data()}};
  read_pieces(found->directory, found->manifest, wanted);
  EXPECT_EQ(read, more);
}

TEST_F(WriterGroups, AGroupThatHasNothingMakesNoFile) {
  if (size() < 4) GTEST_SKIP() << "needs two groups of two";
  writers_per_node_ = 2;
  Saver saver = make_saver();
  const std::vector<float> value{1, 2, 3};
  const std::vector<DevicePiece> one{{{"master/x", DType::f32, {3}}, {{}, {3}}, value.data()}};
  saver.start(test::state_at(1), rank() == 1 ? std::span<const DevicePiece>(one) : std::span<const DevicePiece>());
  saver.finish();
  const std::optional<Found> found = find();
  ASSERT_TRUE(found.has_value());
  ASSERT_EQ(found->manifest.files.size(), 1u);
  EXPECT_EQ(found->manifest.files[0].name, file_name(0));
}

TEST_F(WriterGroups, OnePieceOfTheLastRankIsInTheFileOfItsWriter) {
  writers_per_node_ = 1;
  Saver saver = make_saver();
  const std::vector<float> value{1, 2, 3};
  const std::vector<DevicePiece> one{{{"master/x", DType::f32, {3}}, {{}, {3}}, value.data()}};
  saver.start(test::state_at(1), last() ? std::span<const DevicePiece>(one) : std::span<const DevicePiece>());
  saver.finish();
  const std::optional<Found> found = find();
  ASSERT_TRUE(found.has_value());
  ASSERT_EQ(found->manifest.files.size(), 1u);
  EXPECT_EQ(found->manifest.files[0].name, file_name(0));
}

}  // namespace
}  // namespace octet::checkpoint
