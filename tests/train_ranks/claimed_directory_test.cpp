// Hosts of which one has something else at the path of the run directory: a folder of its own in place of a mount.
#include "src/train/start/run_directory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/base/hosts.h"
#include "src/base/log.h"
#include "src/comm/control_exchange.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "src/comm/watchdog.h"
#include "src/owner/owner_file.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using Hosts = std::vector<std::string>;

/// Every rank is a host of its own, with its own way to the folder that all share: a link in its working folder.
class ClaimedTogether : public testing::Test {
 public:
  ~ClaimedTogether() override {
    world_->barrier();
    log::set_identity(0, 1, "");
    fs::current_path(here_);
    if (rank() == 0) fs::remove_all(folder_);
    world_->barrier();
  }

 protected:
  ClaimedTogether() : stream_(cpu_device().make_stream()), world_(make_mpi_communicator(*stream_, "world")) {
    const fs::path mine = fs::temp_directory_path() / fmt::format("octet-claim-{}", ::getpid());
    folder_ = broadcast_bytes(mine.string(), 0, *world_);
    here_ = fs::current_path();
    mount_ = fs::path(folder_) / fmt::format("host-{}", rank());
    fs::create_directories(fs::path(folder_) / "shared");
    fs::create_directories(mount_);
    fs::create_symlink(fs::path(folder_) / "shared", mount_ / "run");
    fs::current_path(mount_);
    log::set_identity(rank(), world_->size(), host(rank()));
    world_->barrier();
  }
  int rank() const { return world_->rank(); }
  static std::string host(int rank) { return fmt::format("node-{}", rank); }
  void take_own_folder() const {
    fs::remove(mount_ / "run");
    fs::create_directories(mount_ / "run");
  }
  OwnedDirectory claim() const {
    RunConfig config;
    config.run_dir = "run";
    return claim_run_directory(config, "config", *world_);
  }
  /// The claim, where `odd_one` has a folder of its own.
  void expect_refused(int odd_one) const {
    if (rank() == odd_one) take_own_folder();
    world_->barrier();
    try {
      claim();
      ADD_FAILURE() << "claimed a directory that not all hosts see";
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_TRUE(error.agreed());
      EXPECT_NE(text.find("cannot read run/owner.json on "), std::string::npos) << text;
      const bool most = world_->size() == 2;
      EXPECT_EQ(error.code(), most ? ExitCode::internal : ExitCode::unhealthy) << text;
      EXPECT_EQ(left_out_hosts(text), most ? Hosts{} : Hosts{host(odd_one)}) << text;
    }
  }

  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Communicator> world_;
  std::string folder_;
  fs::path here_, mount_;
};

TEST_F(ClaimedTogether, WhereAllSeeTheSame) {
  const OwnedDirectory owned = claim();
  EXPECT_EQ(owned.lease != nullptr, rank() == 0);
  EXPECT_TRUE(fs::exists(fs::path(folder_) / "shared/owner.json"));
  world_->barrier();
}

/// The ranks that wait are told that rank 0 still watches, for longer than one of them may stand still.
TEST_F(ClaimedTogether, FromAnOwnerThatIsWatchedForLongerThanAnOperationMayTake) {
  OwnerRecord gone = this_process();
  gone.boot_id = "another boot";  // nothing can be seen of it
  gone.job = {};
  const fs::path file = fs::path(folder_) / "shared/owner.json";
  if (rank() == 0) {
    std::ofstream(file) << to_json(gone);
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(1));
    setenv("OCTET_TEST_OWNER_SECONDS", "60", 1);  // watched for 6 s
  }
  world_->barrier();
  const Watchdog watchdog({.start = 3});
  const OwnedDirectory owned = claim();
  unsetenv("OCTET_TEST_OWNER_SECONDS");
  EXPECT_NE(owned.run.owner.name, gone.name);
  EXPECT_EQ(read_owner("run")->name, owned.run.owner.name);
  world_->barrier();
}

TEST_F(ClaimedTogether, WhereTheLastHasAFolderOfItsOwn) {
  if (world_->size() < 3) GTEST_SKIP() << "of two hosts nobody can tell which one it is";
  expect_refused(world_->size() - 1);
}

TEST_F(ClaimedTogether, WhereRank0HasAFolderOfItsOwn) {
  if (world_->size() < 3) GTEST_SKIP() << "of two hosts nobody can tell which one it is";
  expect_refused(0);
}

TEST_F(ClaimedTogether, OfTwoHostsItMayBeEither) {
  if (world_->size() != 2) GTEST_SKIP() << "needs 2 ranks";
  expect_refused(0);
}

}  // namespace
}  // namespace octet
