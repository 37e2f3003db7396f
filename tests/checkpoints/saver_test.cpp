#include "checkpoints/save/saver.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <thread>

#include "checkpoints/format/view.h"
#include "src/base/hosts.h"
#include "tests/checkpoints/saver_fixture.h"
#include "tests/support/no_threads.h"

namespace octet::checkpoint {
namespace {

using test::contains;
using test::state_at;
using test::Steps;

class SaverTest : public test::SaverTest {
 protected:
  void expect_found(std::int64_t step) {
    const std::optional<Found> found = find();
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->manifest.state, state_at(step));
    EXPECT_EQ(test::wrong_tensor(*found, 2), std::nullopt);
  }
};

TEST_F(SaverTest, WhatIsSavedIsFoundByEveryLayout) {
  Saver saver = make_saver();
  const SaveReport report = save(saver, 4);
  EXPECT_EQ(report.step, 4);
  EXPECT_GT(report.file_seconds, 0);
  EXPECT_LE(report.read_back_seconds, report.file_seconds);
  EXPECT_EQ(report.path, path_of(4));
  EXPECT_GT(report.bytes, 3 * (37 * 12 + 2 * 24 + 12) * 4);
  const std::optional<Found> found = find();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->directory, path_of(4));
  EXPECT_EQ(found->manifest.state, state_at(4));
  EXPECT_EQ(found->manifest.tensors, test::example_tensors());
  for (const int shards : {1, 2, 3, 5, 8}) EXPECT_EQ(test::wrong_tensor(*found, shards), std::nullopt) << shards;
}

TEST_F(SaverTest, WithoutThreadsItSavesTheSame) {
  {
    Saver saver = make_saver();
    const octet::test::NoThreads none;
    ASSERT_THROW(std::thread([] {}), std::system_error) << "this test needs that no thread can be made";
    save(saver, 4);
    save(saver, 5);
  }
  expect_found(5);
}

TEST_F(SaverTest, PreparedItSavesTheSame) {
  Saver saver = make_saver();
  saver.prepare(mine_->pieces());
  saver.prepare(mine_->pieces());  // there is enough already
  save(saver, 4);
  save(saver, 5);
  expect_found(5);
}

TEST_F(SaverTest, TellsAtTheStartWhatTheDiskHasNoRoomFor) {
  for (const int keep : {1'000'000'000, 3}) {
    Saver saver = make_saver(keep);
    testing::internal::CaptureStderr();
    saver.prepare(mine_->pieces());
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(
        contains(said, "but checkpoint.keep 1000000000 takes 1000000001 while one is written (0 there now); make room"),
        keep != 3 && rank() == 0)
        << said;
  }
}

TEST_F(SaverTest, WhatIsBeingWrittenIsNotPreparedAnew) {
  Saver saver = make_saver();
  start(saver, 4);
  EXPECT_TRUE(contains(common_error([&] { saver.prepare(mine_->pieces()); }), "step 4 is being written"));
  saver.finish();
  EXPECT_EQ(steps(), Steps({4}));
}

TEST_F(SaverTest, FewerRanksFindTheSame) {
  {
    Saver saver = make_saver();
    save(saver, 4);
  }
  for (int readers = 1; readers < size(); ++readers) {
    const bool reads = rank() < readers;
    const auto part = world_->split(reads ? 0 : 1, rank(), "readers");
    if (!reads) continue;
    const std::optional<Found> found = find_newest_valid(root_, *part);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(test::wrong_tensor(*found, readers), std::nullopt) << readers;
  }
}

TEST_F(SaverTest, SharedWorkIsSharedEvenly) {
  Saver saver = make_saver();
  test::VirtualRank whole(0, 1);  // every rank has everything
  whole.set(1);
  saver.start(state_at(1), whole.pieces());
  saver.finish();
  const std::optional<Found> found = find();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->manifest.files.size(), static_cast<std::size_t>(size()));
  EXPECT_EQ(found->manifest.pieces.size(), test::example_tensors().size()) << "each is written once";
  EXPECT_EQ(test::wrong_tensor(*found, 2), std::nullopt);
}

TEST_F(SaverTest, OnePieceIsOneFile) {
  Saver saver = make_saver();
  const std::vector<float> value{1, 2, 3};
  const std::vector<DevicePiece> one{{{"master/x", DType::f32, {3}}, {{}, {3}}, value.data()}};
  saver.start(state_at(1), last() ? std::span<const DevicePiece>(one) : std::span<const DevicePiece>());
  saver.finish();
  const std::optional<Found> found = find();
  ASSERT_TRUE(found.has_value());
  ASSERT_EQ(found->manifest.files.size(), 1u);
  EXPECT_EQ(found->manifest.files[0].name, file_name(size() - 1));
}

TEST_F(SaverTest, NothingIsListedBeforeItsCommit) {
  Saver saver = make_saver();
  save(saver, 1);
  start(saver, 2);
  EXPECT_TRUE(saver.busy());
  std::optional<SaveReport> report;
  while (!report) {
    EXPECT_EQ(steps(), Steps{1});
    ASSERT_TRUE(saver.busy());
    report = saver.poll();
    std::this_thread::yield();
  }
  EXPECT_EQ(report->step, 2);
  EXPECT_FALSE(saver.busy());
  EXPECT_EQ(steps(), (Steps{2, 1}));
  EXPECT_FALSE(saver.poll().has_value());
  EXPECT_FALSE(saver.finish().has_value());
}

TEST_F(SaverTest, ASecondSaveBeginsWhenTheFirstHasEnded) {
  Saver saver = make_saver();
  start(saver, 1);
  EXPECT_PRED2(contains, common_error([&] { saver.start(state_at(2), mine_->pieces()); }),
               "start while the checkpoint of step 1 is being written");
  saver.wait();
  EXPECT_FALSE(saver.busy());
  start(saver, 2);
  EXPECT_EQ(steps(), Steps{1});
  const std::optional<SaveReport> first = saver.poll();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->step, 1);
  std::optional<SaveReport> second = saver.poll();
  if (!second) second = saver.finish();
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->step, 2);
  const std::optional<Found> found = find();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->manifest.state.step, 2);
  EXPECT_EQ(test::wrong_tensor(*found, 2), std::nullopt);
  Manifest older;
  ASSERT_EQ(verify(path_of(1), older, *world_), std::nullopt);
  EXPECT_EQ(test::wrong_tensor({path_of(1), older}, 2), std::nullopt);
}

TEST_F(SaverTest, OldOnesGo) {
  Saver saver = make_saver(2, 4);
  for (std::int64_t step = 1; step <= 7; ++step) save(saver, step);
  EXPECT_EQ(steps(), (Steps{7, 6, 4}));
  EXPECT_EQ(test::wrong_tensor(*find(), 1), std::nullopt);
}

TEST_F(SaverTest, EveryCommittedOneHasItsView) {
  Saver saver = make_saver();
  for (std::int64_t step = 1; step <= 3; ++step) {  // the writer of one meets the view of the one before
    start(saver, step);
    saver.wait();
  }
  saver.finish();
  saver.wait_for_view();
  on_rank_0([&] {
    for (std::int64_t step = 1; step <= 3; ++step) EXPECT_TRUE(view_is_current(path_of(step))) << step;
  });
}

TEST_F(SaverTest, AFinishedRunDoesNotWaitForTheView) {
  std::promise<void> gate;
  const auto opened = gate.get_future().share();
  const auto verify = [&, here = std::this_thread::get_id()] {  // what the view's thread does first
    if (std::this_thread::get_id() != here && std::filesystem::exists(path_of(1))) opened.wait();
  };
  Saver saver({.root = root_, .owner = {.name = "", .verify = verify}}, *world_, *stream_);
  start(saver, 1);
  EXPECT_TRUE(saver.finish().has_value());
  on_rank_0([&] { EXPECT_FALSE(view_is_current(path_of(1))); });
  const auto later = std::async(std::launch::async, [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    gate.set_value();
  });
  saver.wait_for_view();
  EXPECT_TRUE(view_is_current(path_of(1))) << "on every rank";
}

TEST_F(SaverTest, AViewThatCannotBeMadeIsNoFailure) {
  Saver saver = make_saver();
  start(saver, 1);
  // A folder in the view's way, which nothing of the commit touches.
  on_rank_0([&] { std::filesystem::create_directories(root_ + "/" + temporary_name(1) + "/" + view_name + "/x"); });
  EXPECT_TRUE(saver.finish().has_value());
  saver.wait_for_view();
  on_rank_0([&] { EXPECT_FALSE(std::filesystem::is_regular_file(path_of(1) + "/" + view_name)); });
  EXPECT_EQ(test::wrong_tensor(*find(), 1), std::nullopt);
  save(saver, 2);
  saver.wait_for_view();
  on_rank_0([&] { EXPECT_TRUE(view_is_current(path_of(2))); });
}

TEST_F(SaverTest, ANewSaverRemovesLeftovers) {
  on_rank_0([&] {
    std::filesystem::create_directories(root_ + "/" + temporary_name(9));
    test::put_file(root_ + "/" + temporary_name(9) + "/" + file_name(0));
  });
  EXPECT_EQ(find(), std::nullopt);
  Saver saver = make_saver();
  world_->barrier();
  EXPECT_FALSE(std::filesystem::exists(root_ + "/" + temporary_name(9)));
}

TEST_F(SaverTest, AbandonedInTheMiddleItLeavesTheOlderOne) {
  {
    Saver saver = make_saver();
    save(saver, 1);
    start(saver, 2);
  }
  EXPECT_EQ(steps(), Steps{1});
  Saver saver = make_saver();
  EXPECT_EQ(find()->manifest.state.step, 1);
  save(saver, 2);
  EXPECT_EQ(steps(), (Steps{2, 1}));
}

TEST_F(SaverTest, ADamagedStepIsReplacedWhenItIsSavedAgain) {
  Saver saver = make_saver();
  save(saver, 1);
  save(saver, 2);
  on_rank_0([&] { test::flip_bit(path_of(2) + "/" + file_name(0), 100); });
  EXPECT_EQ(find()->manifest.state.step, 1);
  save(saver, 2);
  EXPECT_EQ(find()->manifest.state.step, 2);
  EXPECT_EQ(test::wrong_tensor(*find(), 1), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(root_ + "/" + temporary_name(2)));
}

TEST_F(SaverTest, TensorsThatAreNotWholeAreRefusedBeforeAnythingIsWritten) {
  Saver saver = make_saver();
  std::vector<DevicePiece> pieces = mine_->pieces();
  if (rank() == 0) pieces[0].box.extent = pieces[0].box.extent.with_rows(1);
  EXPECT_PRED2(contains, common_error([&] { saver.start(state_at(1), pieces); }), "embedding.weight");
  EXPECT_FALSE(saver.busy());
  EXPECT_FALSE(std::filesystem::exists(root_ + "/" + temporary_name(1)));
  save(saver, 1);
  EXPECT_EQ(steps(), Steps{1});
}

TEST_F(SaverTest, RanksThatDisagreeAboutATensorAreRefused) {
  if (size() == 1) GTEST_SKIP() << "needs two ranks";
  Saver saver = make_saver();
  std::vector<DevicePiece> pieces = mine_->pieces();
  if (last()) pieces[0].tensor.dtype = DType::i32;
  EXPECT_PRED2(contains, common_error([&] { saver.start(state_at(1), pieces); }),
               fmt::format("is i32 [37, 12] on rank {}, but f32 [37, 12]", size() - 1));
}

TEST_F(SaverTest, TooLittleSpaceIsToldBeforeAnythingIsWritten) {
  Saver saver = make_saver();
  save(saver, 1);
  const std::int64_t rows = std::int64_t{1} << 50;
  const std::vector<DevicePiece> pieces{{{"master/huge", DType::f32, {rows}}, {{}, {rows}}, nullptr}};
  const std::string error = common_error([&] { saver.start(state_at(2), pieces); });
  EXPECT_PRED2(contains, error, "step 2 cannot be saved: rank 0 on " + host_name() + ": " + root_);
  EXPECT_PRED2(contains, error, "free, but a checkpoint of");
  EXPECT_FALSE(std::filesystem::exists(root_ + "/" + temporary_name(2)));
  EXPECT_EQ(steps(), Steps{1});
}

}  // namespace
}  // namespace octet::checkpoint
