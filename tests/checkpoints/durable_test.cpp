#include "checkpoints/format/durable.h"

#include <gtest/gtest.h>

#include <functional>

#include "src/base/error.h"
#include "tests/checkpoints/directory.h"
#include "tests/checkpoints/small_checkpoint.h"

namespace octet::checkpoint {
namespace {

namespace fs = std::filesystem;
using test::error_of;

class Durable : public testing::Test {
 protected:
  test::TemporaryDirectory root_;
};

TEST_F(Durable, WriteFileMakesANewFile) {
  const std::string path = root_ / "file", content(100'000, 'x');
  write_file(path, content);
  EXPECT_EQ(test::content_of(path), content);
  EXPECT_EQ(error_of([&] { write_file(path, "other"); }, ExitCode::internal),
            "[checkpoints] " + path + ": cannot be opened: File exists");
  EXPECT_EQ(test::content_of(path), content);
}

TEST_F(Durable, MakeDirectoriesMakesParentsAndAcceptsWhatIsThere) {
  make_directories(root_ / "a/b/c");
  make_directories(root_ / "a/b/c");
  EXPECT_TRUE(fs::is_directory(root_ / "a/b/c"));
  test::put_file(root_ / "file");
  EXPECT_NE(error_of([&] { make_directories(root_ / "file"); }, ExitCode::usage).find("cannot be made: File exists"),
            std::string::npos);
  EXPECT_NE(error_of([&] { make_directories(root_ / "file/x"); }, ExitCode::usage).find(root_ / "file"),
            std::string::npos);
}

TEST_F(Durable, RenameRefusesAFullDirectory) {
  make_directory(root_ / "from");
  make_directory(root_ / "to");
  test::put_file(root_ / "to/file");
  EXPECT_EQ(error_of([&] { rename_durably(root_ / "from", root_ / "to"); }, ExitCode::internal),
            "[checkpoints] " + (root_ / "from") + ": cannot be renamed to " + (root_ / "to") + ": Directory not empty");
}

TEST_F(Durable, ReplaceTakesTheNameWithAndWithoutAnOldOne) {
  for (const std::string content : {"first", "second"}) {
    make_directory(root_ / "new");
    test::put_file(root_ / "new/file", content);
    replace_directory(root_ / "new", root_ / "name");
    EXPECT_FALSE(fs::exists(root_ / "new"));
    EXPECT_EQ(test::content_of(root_ / "name/file"), content);
  }
}

TEST_F(Durable, ReplaceLeavesAFileInTheWayAlone) {
  make_directory(root_ / "new");
  test::put_file(root_ / "name", "precious");
  EXPECT_NE(
      error_of([&] { replace_directory(root_ / "new", root_ / "name"); }, ExitCode::internal).find("is in the way"),
      std::string::npos);
  EXPECT_EQ(test::content_of(root_ / "name"), "precious");
  EXPECT_TRUE(fs::exists(root_ / "new"));
}

TEST_F(Durable, RemoveTreeDoesNotFollowLinks) {
  make_directories(root_ / "outside");
  test::put_file(root_ / "outside/file");
  make_directories(root_ / "tree/inner");
  test::put_file(root_ / "tree/inner/file");
  fs::create_symlink(root_ / "outside", root_ / "tree/link");
  remove_tree(root_ / "tree");
  EXPECT_FALSE(fs::exists(root_ / "tree"));
  EXPECT_TRUE(fs::exists(root_ / "outside/file"));
  remove_tree(root_ / "tree");  // nothing there is fine
}

TEST_F(Durable, FreeBytesAreOfAPathThatExists) {
  EXPECT_GT(free_bytes(root_.path()), 0);
  EXPECT_NE(error_of([&] { free_bytes(root_ / "none"); }, ExitCode::internal).find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace octet::checkpoint
