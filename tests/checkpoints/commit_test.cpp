// What is looked at before a folder becomes a checkpoint, and what an unfinished write left.
#include "checkpoints/save/commit.h"

#include <filesystem>

#include "checkpoints/restore/restore.h"
#include "tests/checkpoints/directory.h"
#include "tests/checkpoints/small_checkpoint.h"
#include "tests/support/expect_has.h"

namespace octet::checkpoint::test {
namespace {

namespace fs = std::filesystem;

/// A folder with the files of a checkpoint of step 1, whose manifest is still to be written.
class Commit : public testing::Test {
 protected:
  Commit() : temporary_(make_temporary(root_.path(), 1, {})) {
    write_small(root_ / "whole", 1);
    manifest_ = read_manifest(root_ / "whole");
    for (const StoredFile& file : manifest_.files) {
      fs::copy_file(root_ / "whole" + "/" + file.name, temporary_ + "/" + file.name);
    }
  }
  std::string first() const { return temporary_ + "/" + manifest_.files[0].name; }
  std::string refusal() const {
    return error_of([&] { write_manifest(root_.path(), manifest_, {}); }, ExitCode::internal);
  }

  TemporaryDirectory root_;
  const std::string temporary_;
  Manifest manifest_;
};

TEST_F(Commit, OfFilesThatAreWholeMakesACheckpoint) {
  EXPECT_EQ(write_manifest(root_.path(), manifest_, {}), temporary_);
  EXPECT_TRUE(list_checkpoints(root_.path()).empty());
  commit(root_.path(), 1, {});
  EXPECT_EQ(list_checkpoints(root_.path()), std::vector<std::string>{root_ / directory_name(1)});
  EXPECT_FALSE(fs::exists(temporary_));
}

/// As where a file system has lost the end of what it took, and said so to nobody.
TEST_F(Commit, AFileThatHasBecomeShorterOrIsGoneIsSeen) {
  fs::resize_file(first(), static_cast<std::uintmax_t>(manifest_.files[0].bytes - 1));
  EXPECT_HAS(refusal(), fmt::format("{}: found {} bytes, expected the {} that were written", first(),
                                    manifest_.files[0].bytes - 1, manifest_.files[0].bytes));
  fs::remove(temporary_ + "/" + manifest_name);
  fs::remove(first());
  EXPECT_HAS(refusal(), first() + ": No such file or directory");
}

TEST_F(Commit, WhatAnUnfinishedWriteOfTheSameStepLeftGoes) {
  EXPECT_EQ(make_temporary(root_.path(), 1, {}), temporary_);
  EXPECT_TRUE(fs::is_empty(temporary_));
}

/// What an owner that was followed wrote may stay, but it must not become a checkpoint beside those of the next run.
TEST_F(Commit, AnOwnerThatWasFollowedWritesNoManifestAndCommitsNothing) {
  write_manifest(root_.path(), manifest_, {});
  const Owner followed{.name = "", .verify = [] { throw Error(ExitCode::lost_peer, "[owner] is another run's now"); }};
  EXPECT_HAS(error_of([&] { commit(root_.path(), 1, followed); }, ExitCode::lost_peer), "another run's");
  EXPECT_TRUE(list_checkpoints(root_.path()).empty());
  fs::remove(temporary_ + "/" + manifest_name);
  EXPECT_HAS(error_of([&] { write_manifest(root_.path(), manifest_, followed); }, ExitCode::lost_peer),
             "another run's");
  EXPECT_FALSE(fs::exists(temporary_ + "/" + manifest_name));
}

}  // namespace
}  // namespace octet::checkpoint::test
