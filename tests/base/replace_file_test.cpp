#include "src/base/replace_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace octet {
namespace {

namespace fs = std::filesystem;

class ReplaceFile : public testing::Test {
 protected:
  ReplaceFile() { fs::create_directory(folder_); }
  ~ReplaceFile() override { fs::remove_all(folder_); }

  std::string content() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  auto entries() const { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("octet-replace-" + std::to_string(getpid()));
  const std::string path_ = folder_ / "text";
};

TEST_F(ReplaceFile, MakesAndReplaces) {
  EXPECT_TRUE(replace_file(path_, "a longer one"));
  std::ifstream old(path_);
  EXPECT_TRUE(replace_file(path_, "second"));
  EXPECT_EQ(content(), "second");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(old), {}), "a longer one") << "the old file is another";
  EXPECT_EQ(entries(), 1);
}

TEST_F(ReplaceFile, LeavesTheOldAndNothingElseWhenRefused) {
  fs::create_directories(path_ + "/in the way");  // a file cannot take the name of a folder
  EXPECT_FALSE(replace_file(path_, "text"));
  EXPECT_EQ(errno, EISDIR);
  EXPECT_EQ(entries(), 1);
  EXPECT_FALSE(replace_file(folder_ / "none" / "text", "text"));
  EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace octet
