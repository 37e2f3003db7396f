#include "src/corpus/input_files.h"

#include <algorithm>

#include "tests/data/support.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using test::TempFolder;
using test::write_bytes;

class InputFilesTest : public testing::Test {
 protected:
  InputFilesTest() {
    for (const char* name : {"a/1.jsonl", "a/b/2.jsonl", "a/b/c/3.jsonl", "a/b/c/3.txt", "a/.h/4.jsonl", "z[1].txt"}) {
      write_bytes(folder_ / name, "x");
    }
    fs::create_directory_symlink("..", folder_ / "a/b/loop");
  }
  std::vector<std::string> found(const std::vector<std::string>& inputs) {
    std::vector<std::string> names;
    for (const ListedFile& file : find_input_files(inputs).files) {
      names.push_back(file.path.substr(folder_.path().size() + 1));
    }
    return names;
  }
  using Names = std::vector<std::string>;
  TempFolder folder_;
};

TEST_F(InputFilesTest, PatternsAreExpandedHere) {
  EXPECT_EQ(found({folder_ / "a/*.jsonl"}), (Names{"a/1.jsonl"}));
  EXPECT_EQ(found({folder_ / "a/**/*.jsonl"}), (Names{"a/1.jsonl", "a/b/2.jsonl", "a/b/c/3.jsonl"}));
  EXPECT_EQ(found({folder_ / "a/**/c/[0-9].t?t"}), (Names{"a/b/c/3.txt"}));
  EXPECT_EQ(found({folder_ / "a/b/[bc]"}), (Names{"a/b/c/3.jsonl", "a/b/c/3.txt"}))
      << "folders count with all they hold";
  EXPECT_EQ(found({folder_ / "a/.?/*"}), (Names{"a/.h/4.jsonl"}))
      << "hidden names are matched by a pattern with the dot";
  EXPECT_HAS(error_of([&] { found({folder_ / "a/*.parquet"}); }), "no file matches the pattern");
}

/// Whoever keeps half of a corpus behind a link is told that it is not read.
TEST_F(InputFilesTest, LinkedFoldersThatArePassedOverAreWarnedOf) {
  const auto warning = [&](const std::string& input) {
    testing::internal::CaptureStderr();
    found({input, folder_ / "z[1].txt"});
    return testing::internal::GetCapturedStderr();
  };
  write_bytes(folder_ / "elsewhere/5.jsonl", "x");
  fs::create_directory_symlink("../elsewhere", folder_ / "a/linked");
  const std::string expected = "2 linked folders are passed over, the first is " + (folder_ / "a/b/loop") + ":";
  EXPECT_HAS(warning(folder_ / "a/**/*.jsonl"), expected);
  EXPECT_HAS(warning(folder_ / "a"), expected);
  EXPECT_EQ(find_input_files({folder_ / "a/**/*.jsonl", folder_ / "a/**/*.txt"}).skipped.size(), 2U)
      << "each counts once";
  EXPECT_EQ(warning(folder_ / "a/*/5.jsonl"), "");
  EXPECT_EQ(found({folder_ / "a/*/5.jsonl"}), (Names{"a/linked/5.jsonl"}));
  EXPECT_HAS(error_of([&] { found({folder_ / "a/**/5.jsonl"}); }),
             "no file matches the pattern; ** goes into no linked folder, as " + (folder_ / "a/b/loop"));
}

TEST_F(InputFilesTest, LinkedFoldersThatAreInputsThemselvesAreNotWarnedOf) {
  fs::remove(folder_ / "a/b/loop");
  write_bytes(folder_ / "elsewhere/5.jsonl", "x");
  fs::create_directory_symlink("../elsewhere", folder_ / "a/linked");
  const std::vector<std::vector<std::string>> inputs = {{folder_ / "a", folder_ / "a/linked/"},
                                                        {folder_ / "a/./linked", folder_ / "a/**/*.jsonl"},
                                                        {folder_ / "a/b/c", folder_ / "a/**/linked"}};
  for (const auto& given : inputs) {
    testing::internal::CaptureStderr();
    const InputFiles found = find_input_files(given);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    for (const std::string& skipped : found.skipped) EXPECT_EQ(skipped, folder_ / "a/.h");
    EXPECT_TRUE(
        std::ranges::any_of(found.files, [](const ListedFile& file) { return file.path.ends_with("5.jsonl"); }));
  }
}

TEST_F(InputFilesTest, AFileWhoseNameIsAPatternGoesFirst) {
  EXPECT_EQ(found({folder_ / "z[1].txt"}), (Names{"z[1].txt"}));
}

TEST_F(InputFilesTest, AListHasAnInputALineAndKeepsItsOrder) {
  write_bytes(folder_ / "list", (folder_ / "a/b/c") + "\r\n\n" + (folder_ / "a/*.jsonl"));
  EXPECT_EQ(found({"@" + (folder_ / "list")}), (Names{"a/b/c/3.jsonl", "a/b/c/3.txt", "a/1.jsonl"}));
  EXPECT_HAS(error_of([&] { found({"@" + (folder_ / "none")}); }),
             "none: cannot be read: No such file or directory; expected a list of inputs");
  EXPECT_HAS(error_of([&] { found({"@" + (folder_ / "list"), folder_ / "a/1.jsonl"}); }), "given twice");
}

}  // namespace
}  // namespace octet
