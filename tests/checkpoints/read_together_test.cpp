// What a host cannot read is no damage: the ranks end together and say which hosts it is, and nothing is renamed.
#include "src/comm/read_together.h"
#include "src/comm/look_together.h"

#include <gtest/gtest.h>
#include <cerrno>
#include <cstdlib>

#include <chrono>
#include <thread>

#include "src/base/hosts.h"
#include "src/base/log.h"
#include "src/comm/agreement.h"
#include "tests/checkpoints/saver_fixture.h"

namespace octet::checkpoint {
namespace {

namespace fs = std::filesystem;
using Hosts = std::vector<std::string>;

/// Every rank is a host of its own, with its own way to the checkpoints that all share: a link in its working folder.
class ReadTogether : public test::SaverTest {
 public:
  ~ReadTogether() override {
    world_->barrier();
    log::set_identity(0, 1, "");
    fs::current_path(here_);
    ::unsetenv("SLURM_STEP_ID");
    ::unsetenv("SLURMD_NODENAME");
    if (!on_node_.empty()) ::setenv("MPI_LOCALNRANKS", on_node_.c_str(), 1);
  }

 protected:
  ReadTogether() {
    {
      Saver saver = make_saver();
      for (const std::int64_t step : {1, 2}) save(saver, step);
    }
    shared_ = root_;
    here_ = fs::current_path();
    mount_ = fs::path(shared_).parent_path() / fmt::format("host-{}", rank());
    fs::create_directories(mount_);
    fs::create_symlink(shared_, mount_ / "checkpoints");
    fs::current_path(mount_);
    root_ = "checkpoints";
    log::set_identity(rank(), size(), host(rank()));
    if (const char* ranks = std::getenv("MPI_LOCALNRANKS")) on_node_ = ranks;
    ::unsetenv("MPI_LOCALNRANKS");
    ::setenv("SLURM_STEP_ID", "0", 1);  // a node is what Slurm calls one
    ::setenv("SLURMD_NODENAME", host(rank()).c_str(), 1);
    world_->barrier();
  }

  static std::string host(int rank) { return fmt::format("node-{}", rank); }
  std::string file_of(int rank) const { return path_of(2) + "/" + file_name(rank); }
  /// A copy of the way, of links alone, in which a file can be what it is for nobody else.
  void take_own_way() const {
    fs::remove(mount_ / "checkpoints");
    for (const auto& checkpoint : fs::directory_iterator(shared_)) {
      if (!checkpoint.is_directory()) continue;
      const fs::path mine = mount_ / "checkpoints" / checkpoint.path().filename();
      fs::create_directories(mine);
      for (const auto& file : fs::directory_iterator(checkpoint)) {
        fs::create_symlink(file.path(), mine / file.path().filename());
      }
    }
  }
  /// A name that leads to itself can be listed and not opened: ELOOP stands for EIO.
  static void make_unreadable(const std::string& path) {
    fs::remove(path);
    fs::create_symlink(fs::path(path).filename(), path);
  }

  struct Ending {
    ExitCode code = ExitCode::finished;
    std::string text;
    std::string said;  ///< by this rank
  };
  /// find(), which must end alike on all ranks, and says nothing of damage.
  Ending find_nothing() {
    world_->barrier();
    testing::internal::CaptureStderr();
    Ending ending;
    ending.text = common_error([&] {
      try {
        find();
      } catch (const Error& error) {
        ending.code = error.code();
        throw;
      }
    });
    ending.said = testing::internal::GetCapturedStderr();
    world_->barrier();
    EXPECT_FALSE(test::contains(ending.said, "DAMAGED")) << ending.said;
    return ending;
  }
  /// The error of one host among several.
  void expect_left_out(const Ending& ending, int odd_one, const std::string& path) {
    EXPECT_EQ(ending.code, ExitCode::unhealthy) << ending.text;
    EXPECT_EQ(left_out_hosts(ending.text), Hosts{host(odd_one)}) << ending.text;
    EXPECT_PRED2(test::contains, ending.text, "cannot read " + path);
    EXPECT_PRED2(test::contains, ending.text, fmt::format(" on 1 of {} host(s)", size()));
    EXPECT_EQ(test::contains(ending.said, "; tried again in "), rank() == odd_one) << ending.said;
    EXPECT_EQ(test::contains(ending.said, fmt::format("[rank {} {}] ", rank(), host(rank()))), rank() == odd_one);
  }

  std::string shared_;
  fs::path here_, mount_;
  std::string on_node_;
};

TEST(PauseAfter, IsATwentiethOfTheWaitWithinBounds) {
  using std::chrono::milliseconds;
  EXPECT_EQ(files::pause_after(milliseconds(0)), milliseconds(1));
  EXPECT_EQ(files::pause_after(milliseconds(20)), milliseconds(1));
  EXPECT_EQ(files::pause_after(milliseconds(400)), milliseconds(20));
  EXPECT_EQ(files::pause_after(milliseconds(5000)), milliseconds(250));
  EXPECT_EQ(files::pause_after(std::chrono::hours(1)), milliseconds(250));
}

/// One of several reads of a rank: the others go on until they are told to end, as a hanging one would not.
TEST_F(ReadTogether, AFailureIsHeardBeforeTheOtherReadsOfItsRankEnd) {
  const std::string missing = path_of(2) + "/missing";
  files::ReadProgress progress;
  const auto read = [&] {
    if (rank() != 0) return;
    progress.fail(files::ReadError(missing, ENOENT));
    while (!progress.stopped()) std::this_thread::yield();
  };
  const auto absent = files::read_together("test", *world_, progress, read);
  ASSERT_TRUE(absent);
  EXPECT_PRED2(test::contains, *absent, missing);
}

TEST_F(ReadTogether, AMountThatIsMissingOnOneHost) {
  if (size() == 1) GTEST_SKIP() << "needs 2 ranks";
  if (last()) fs::remove(mount_ / "checkpoints");
  const Ending ending = find_nothing();
  expect_left_out(ending, size() - 1, root_);
  EXPECT_PRED2(test::contains, ending.text, "is not there, where others see it");
}

TEST_F(ReadTogether, AFileThatOneHostCannotRead) {
  if (size() == 1) GTEST_SKIP() << "needs 2 ranks";
  if (last()) {
    take_own_way();
    for (int r = 0; r < size(); ++r) make_unreadable(file_of(r));
  }
  expect_left_out(find_nothing(), size() - 1, path_of(2) + "/writer-");
}

TEST_F(ReadTogether, AFileThatIsNotThereForOneHost) {
  if (size() == 1) GTEST_SKIP() << "needs 2 ranks";
  if (last()) {
    take_own_way();
    for (int r = 0; r < size(); ++r) fs::remove(file_of(r));
  }
  const Ending ending = find_nothing();
  EXPECT_EQ(ending.code, ExitCode::unhealthy) << ending.text;
  EXPECT_EQ(left_out_hosts(ending.text), Hosts{host(size() - 1)}) << ending.text;
}

TEST_F(ReadTogether, AManifestThatRank0CannotRead) {
  if (size() == 1) GTEST_SKIP() << "needs 2 ranks";
  const std::string manifest = path_of(2) + "/" + manifest_name;
  if (rank() == 0) {
    take_own_way();
    make_unreadable(manifest);
  }
  expect_left_out(find_nothing(), 0, manifest);
}

TEST_F(ReadTogether, CheckpointsThatRank0CannotList) {
  if (size() == 1) GTEST_SKIP() << "needs 2 ranks";
  if (rank() == 0) make_unreadable(root_);
  expect_left_out(find_nothing(), 0, root_);
}

TEST_F(ReadTogether, WhatMostHostsCannotReadIsTheFileSystems) {
  if (rank() == 0) make_unreadable(shared_ + "/" + directory_name(2) + "/" + file_name(0));
  const Ending ending = find_nothing();
  EXPECT_EQ(ending.code, ExitCode::internal);
  EXPECT_EQ(left_out_hosts(ending.text), Hosts{});
  EXPECT_PRED2(test::contains, ending.text, fmt::format("cannot read {} on {} of {}", file_of(0), size(), size()));
  EXPECT_PRED2(test::contains, ending.text, "it is the file system");
}

TEST_F(ReadTogether, WhatPassesIsWaitedFor) {
  const char* const set = std::getenv("OCTET_TEST_PAUSES");
  const std::string before = set == nullptr ? "1" : set;
  setenv("OCTET_TEST_PAUSES", "1", 1);
  std::thread mends;
  if (last()) {
    fs::remove(mount_ / "checkpoints");
    mends = std::thread([this] {
      std::this_thread::sleep_for(std::chrono::milliseconds(700));
      fs::create_symlink(shared_, mount_ / "checkpoints");
    });
  }
  if (size() == 1) mends.join();  // it would find no checkpoints at all
  world_->barrier();
  const std::optional<Found> found = find();
  if (mends.joinable()) mends.join();
  setenv("OCTET_TEST_PAUSES", before.c_str(), 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->directory, path_of(2));
}

TEST_F(ReadTogether, AnErrorOfAnotherKindIsThatRanksOwn) {
  files::ReadProgress progress;
  const auto work = [&] {
    if (last()) throw usage_error("test", "its own");
  };
  try {
    EXPECT_EQ(files::read_together("test", *world_, progress, work), std::nullopt);
    EXPECT_FALSE(last());
  } catch (const Error& error) {
    EXPECT_TRUE(last());
    EXPECT_EQ(error.code(), ExitCode::usage);
  }
}

TEST_F(ReadTogether, Rank0LooksForAll) {
  int looks = 0;
  files::look_by_first(*world_, [&] { ++looks; });
  EXPECT_EQ(looks, rank() == 0 ? 1 : 0);
  const auto fails = [&] { throw files::ReadError(path_of(1), ESTALE); };
  EXPECT_PRED2(test::contains, common_error([&] { files::look_by_first(*world_, fails); }), "Stale file handle");
}

TEST_F(ReadTogether, TheOthersStopReadingWhenOneCannot) {
  if (size() == 1) GTEST_SKIP() << "needs 2 ranks";
  files::ReadProgress progress;
  const auto work = [&] {
    if (last()) throw files::ReadError(path_of(1), ESTALE);
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(1))) progress.add(1);
  };
  EXPECT_PRED2(test::contains, common_error([&] { files::read_together("test", *world_, progress, work); }),
               "Stale file handle");
}

}  // namespace
}  // namespace octet::checkpoint
