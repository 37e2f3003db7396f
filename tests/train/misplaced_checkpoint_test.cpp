#include "src/train/start/misplaced_checkpoint.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "src/base/read_file.h"
#include "tests/support/error_of.h"
#include "tests/support/expect_has.h"
#include "tests/support/temp_folder.h"
#include "tests/support/unreadable_file.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

class MisplacedCheckpoint : public testing::Test {
 protected:
  MisplacedCheckpoint() { fs::create_directories(mine_); }
  void look() const { refuse_misplaced_checkpoint(folder_.path(), folder_ / "checkpoints", ""); }

  test::TempFolder folder_;
  const fs::path mine_ = folder_ / "checkpoints/mine";
};

/// A link that leads to itself stands for what a file server does not give.
TEST_F(MisplacedCheckpoint, MayBeWhatCannotBeLookedAt) {
  fs::create_symlink("manifest.json", mine_ / "manifest.json");
  EXPECT_THROW(look(), files::ReadError);
  fs::remove_all(mine_);
  fs::create_symlink("mine", mine_);
  EXPECT_THROW(look(), files::ReadError);
  for (const char* name : {".mine", "mine.tmp", "lost+found"}) {
    fs::remove(mine_);
    fs::create_symlink(name, mine_.parent_path() / name);
    EXPECT_NO_THROW(look()) << name;
  }
}

TEST_F(MisplacedCheckpoint, MayBeThatOfAManifestThatCannotBeRead) {
  fs::create_symlink("/proc/self/mem", mine_ / "manifest.json");  // EIO
  EXPECT_THROW(look(), files::ReadError);
  fs::remove(mine_ / "manifest.json");
  std::ofstream(mine_ / "manifest.json") << "{\"name\": \"webapp\"}";
  EXPECT_NO_THROW(look());
}

TEST_F(MisplacedCheckpoint, ThatTheUserMayNotReadIsToldWithWhyItMatters) {
  const std::string unreadable = test::unreadable_file();
  if (unreadable.empty()) GTEST_SKIP() << "the system has no file that root may not read";
  fs::create_symlink(unreadable, mine_ / "manifest.json");
  const std::string message = test::error_of([&] { look(); });
  EXPECT_HAS(message, (mine_ / "manifest.json").string() + ": cannot be read: Permission denied; it may hold a");
  EXPECT_HAS(message, "expected it moved out of the run's folder, or made readable");
}

}  // namespace
}  // namespace octet
