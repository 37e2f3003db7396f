// A rank that cannot write: every rank hears of it, none hangs, earlier checkpoints stay.
#include <gtest/gtest.h>

#include "checkpoints/save/disk_space.h"
#include "checkpoints/save/pruner.h"
#include "src/base/hosts.h"
#include "tests/checkpoints/file_size_limit.h"
#include "tests/checkpoints/saver_fixture.h"
#include "tests/checkpoints/small_checkpoint.h"

namespace octet::checkpoint {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::FileSizeLimit;
using test::state_at;
using test::Steps;

class SaverFailure : public test::SaverTest {
 protected:
  static std::string of_rank_0() { return "rank 0 on " + host_name() + ": "; }
};

TEST_F(SaverFailure, OfAnyRankIsToldByAll) {
  Saver saver = make_saver();
  save(saver, 1);
  for (int failing = 0; failing < size(); ++failing) {
    std::string error;
    {
      std::optional<FileSizeLimit> limit;
      if (rank() == failing) limit.emplace(1024);
      error = common_error([&] {
        start(saver, 2);
        saver.finish();
      });
    }
    EXPECT_PRED2(contains, error,
                 fmt::format("step 2 cannot be saved: rank {} on {}: {}/{}/{}", failing, host_name(), root_,
                             temporary_name(2), file_name(failing)));
    EXPECT_FALSE(saver.busy());
    EXPECT_EQ(steps(), Steps{1});
    EXPECT_FALSE(fs::exists(root_ + "/" + temporary_name(2)));
    EXPECT_EQ(test::wrong_tensor(*find(), 1), std::nullopt);
  }
  save(saver, 2);
  EXPECT_EQ(steps(), (Steps{2, 1})) << "the saver goes on when the reason is gone";
}

/// Before the first save; a mount that is there, but not for this user, say.
TEST_F(SaverFailure, AFolderInWhichNobodyCanWriteIsRefusedAtTheStart) {
  on_rank_0([&] { fs::create_directory_symlink("/proc/self", root_); });  // not even root can make a file there
  const std::string error = common_error([&] { make_saver(); });
  EXPECT_PRED2(contains, error, "checkpoints cannot be written: " + of_rank_0() + root_ + ": cannot be written: ");
  if (size() > 1) {
    EXPECT_PRED2(contains, error, fmt::format("(and {} more rank(s) failed)", size() - 1));
  }
  on_rank_0([&] { fs::remove(root_); });
  Saver saver = make_saver();
  on_rank_0([&] { EXPECT_TRUE(fs::is_empty(root_)) << "the trial leaves nothing"; });
}

TEST_F(SaverFailure, IsFoundByPolling) {
  Saver saver = make_saver();
  const std::string error = common_error([&] {
    {
      std::optional<FileSizeLimit> limit;
      if (last()) limit.emplace(1024);
      start(saver, 2);
      while (!saver.poll()) ASSERT_TRUE(saver.busy());
    }
  });
  EXPECT_PRED2(contains, error, fmt::format("rank {} on {}: ", size() - 1, host_name()));
}

TEST_F(SaverFailure, SeveralRanksAreCounted) {
  if (size() < 3) GTEST_SKIP() << "needs three ranks";
  Saver saver = make_saver();
  const std::string error = common_error([&] {
    std::optional<FileSizeLimit> limit;
    if (rank() > 0) limit.emplace(1024);
    start(saver, 2);
    saver.finish();
  });
  EXPECT_PRED2(contains, error, "rank 1 on " + host_name() + ": ");
  EXPECT_PRED2(contains, error, fmt::format("(and {} more rank(s) failed)", size() - 2));
}

TEST_F(SaverFailure, AFileInPlaceOfTheCheckpoint) {
  Saver saver = make_saver();
  start(saver, 2);
  on_rank_0([&] { test::put_file(path_of(2), "precious"); });
  const std::string error = common_error([&] { saver.finish(); });
  EXPECT_PRED2(contains, error, of_rank_0() + path_of(2) + ": is in the way");
  world_->barrier();
  EXPECT_EQ(test::content_of(path_of(2)), "precious");
  EXPECT_EQ(steps(), Steps{});
}

TEST_F(SaverFailure, AFullDiskIsNoMistakeOfTheUser) {
  make_saver();  // makes the root
  world_->barrier();
  check_free_space(root_, 1);
  try {
    check_free_space(root_, std::int64_t{1} << 60);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::internal);
    EXPECT_PRED2(contains, error.what(), root_ + ": ");
  }
}

/// A save that is too large for any disk.
TEST_F(SaverFailure, ForLackOfRoomComesAfterTheRemovalOfWhatIsSurplus) {
  Saver saver = make_saver(1);
  save(saver, 10);
  on_rank_0([&] {
    test::write_small(path_of(5), 5);  // as a kill between a commit and the removal after it leaves one
    fs::create_directory(path_of(7) + ".damaged");
    test::put_file(path_of(7) + ".damaged/writer-00000.h5", std::string(3 << 20, 'x'));
  });
  const Shape huge{std::int64_t{1} << 50};
  const float nothing = 0;
  const DevicePiece piece{{"master/huge", DType::f32, huge}, whole(huge), &nothing};
  const std::string error = common_error([&] { saver.start(state_at(20), std::span(&piece, 1)); });
  EXPECT_PRED2(contains, error, "make room or keep fewer");
  EXPECT_PRED2(contains, error, "step-000007.damaged (3.0 MiB)");
  EXPECT_EQ(steps(), Steps{10});
  on_rank_0([&] { EXPECT_TRUE(fs::exists(path_of(7) + ".damaged")); });
}

/// A disk that has room for one more than checkpoint.keep.
TEST_F(SaverFailure, IsPreventedByAStartThatRemovesWhatIsSurplus) {
  {
    Saver saver = make_saver(3);
    for (const std::int64_t step : {1, 2, 3}) save(saver, step);
  }
  const std::optional<Found> found = find();
  Saver saver(SaverOptions{.root = root_, .keep_last = 1, .known = found->verdicts, .restored = 3}, *world_, *stream_);
  saver.finish();
  EXPECT_EQ(steps(), Steps{3});
}

TEST(LackOfSpace, IsToldBeforeTheFirstSaveAndOnlyWhereItIs) {
  constexpr std::int64_t gib = std::int64_t{1} << 30;
  EXPECT_EQ(lack_of_space("/r", 5 * gib, gib, 3, 0), "");
  EXPECT_EQ(lack_of_space("/r", 2 * gib, gib, 3, 3), "");  // one more while it is written
  EXPECT_EQ(lack_of_space("/r", 2 * gib, gib, 3, 7), "");  // more than stay: older ones go
  EXPECT_EQ(lack_of_space("/r", gib, gib, 3, 3),
            "/r: 1.0 GiB free, but a checkpoint of 1.0 GiB needs 1.1 GiB there, 64.0 MiB of them for logs and metrics");
  EXPECT_EQ(lack_of_space("/r", gib + gib / 100, gib, 0, 0, 0), "") << "the last one of a run";
  EXPECT_EQ(lack_of_space("/r", gib, gib, 0, 0, 0),
            "/r: 1.0 GiB free, but a checkpoint of 1.0 GiB needs 1.0 GiB there");
  EXPECT_EQ(lack_of_space("/r", 3 * gib, gib, 3, 1),
            "/r: 3.0 GiB free, room for 2 more of 1.0 GiB, but checkpoint.keep 3 takes 4 while one is written "
            "(1 there now)");
}

TEST_F(SaverFailure, ARootThatIsAFile) {
  on_rank_0([&] { test::put_file(root_); });
  EXPECT_PRED2(contains, common_error([&] { make_saver(); }), of_rank_0() + root_);
}

TEST_F(SaverFailure, ARootThatCannotBeMade) {
  root_ = "/proc/self/checkpoints";  // nobody, not even root, can write there
  EXPECT_PRED2(contains, common_error([&] { make_saver(); }), of_rank_0() + root_ + ": cannot be made");
}

TEST_F(SaverFailure, ARootThatVanished) {
  Saver saver = make_saver();
  on_rank_0([&] { fs::remove_all(root_); });
  EXPECT_PRED2(contains, common_error([&] { start(saver, 1); }), "step 1 cannot be saved: " + of_rank_0() + root_);
}

/// Rank 0 learns that another run has the directory, before a save, and when one is written.
TEST_F(SaverFailure, OfAnOwnerThatWasFollowedCommitsAndRemovesNothing) {
  bool followed = false;
  const Owner owner{.name = "n1-5-a", .verify = [&] {
                      if (followed) throw Error(ExitCode::lost_peer, "it is another run's now");
                    }};
  Saver saver(SaverOptions{.root = root_, .keep_last = 1, .owner = owner}, *world_, *stream_);
  save(saver, 1);
  start(saver, 2);
  on_rank_0([&] { EXPECT_TRUE(fs::exists(root_ + "/" + temporary_name(2, "n1-5-a"))); });
  followed = true;
  EXPECT_PRED2(contains, common_error([&] { saver.finish(); }), "it is another run's now");
  EXPECT_EQ(steps(), (std::vector<std::int64_t>{1}));
  EXPECT_PRED2(contains, common_error([&] { start(saver, 3); }), "it is another run's now");
  EXPECT_EQ(steps(), (std::vector<std::int64_t>{1}));
  on_rank_0([&] {
    fs::create_directory(root_ + "/" + temporary_name(9, "n2-6-b"));
    EXPECT_THROW(remove_leftovers(root_, owner), Error);
    EXPECT_THROW(remove_checkpoint(root_, 1, owner), Error);
    EXPECT_TRUE(fs::exists(root_ + "/" + temporary_name(9, "n2-6-b")));
  });
  EXPECT_EQ(steps(), (std::vector<std::int64_t>{1}));
  followed = false;
  const Saver next(SaverOptions{.root = root_, .owner = owner}, *world_, *stream_);
  on_rank_0([&] { EXPECT_FALSE(fs::exists(root_ + "/" + temporary_name(9, "n2-6-b"))) << "whoever's it was"; });
}

}  // namespace
}  // namespace octet::checkpoint
