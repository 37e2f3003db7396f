#include "src/base/replace_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "src/base/files.h"
#include "src/base/log.h"
#include "tests/support/expect_has.h"
#include "tests/support/failing_close.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

class ReplaceFile : public testing::Test {
 public:
  ReplaceFile() { fs::create_directory(folder_); }
  ~ReplaceFile() override { fs::remove_all(folder_); }

 protected:
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

TEST_F(ReplaceFile, DurablyToo) {
  EXPECT_TRUE(replace_file_durably(path_, "first"));
  EXPECT_TRUE(replace_file_durably(path_, "second"));
  EXPECT_EQ(content(), "second");
  EXPECT_EQ(entries(), 1);
}

/// The watchdog's thread and the main thread write status.json.
TEST_F(ReplaceFile, SeveralThreadsMayDoSoAtOnce) {
  const auto write = [this](char letter) {
    for (int i = 0; i < 300; ++i) ASSERT_TRUE(replace_file(path_, std::string(20000, letter)));
  };
  write('a');
  std::thread other(write, 'b');
  const auto read = [this] {
    for (int i = 0; i < 300; ++i) {
      const std::string found = content();
      ASSERT_TRUE(found == std::string(20000, 'a') || found == std::string(20000, 'b')) << found.size();
    }
  };
  std::thread reader(read);
  write('a');
  other.join();
  reader.join();
  EXPECT_EQ(entries(), 1);
}

TEST_F(ReplaceFile, LeavesTheOldAndNothingElseWhenRefused) {
  fs::create_directories(path_ + "/in the way");  // a file cannot take the name of a folder
  for (const auto replace : {replace_file, replace_file_durably}) {
    EXPECT_FALSE(replace(path_, "text"));
    EXPECT_EQ(errno, EISDIR);
    EXPECT_EQ(entries(), 1);
  }
  EXPECT_FALSE(replace_file(folder_ / "none" / "text", "text"));
  EXPECT_EQ(errno, ENOENT);
}

/// What was written is in memory until then.
TEST_F(ReplaceFile, KeepsTheOldWhereTheCloseSaysThatAQuotaIsFull) {
  ASSERT_TRUE(replace_file(path_, "old"));
  for (const auto replace : {replace_file, replace_file_durably}) {
    const test::FailingClose full(EDQUOT);
    EXPECT_FALSE(replace(path_, "new"));
    EXPECT_EQ(errno, EDQUOT);
    EXPECT_EQ(entries(), 1) << "nothing else is left";
  }
  EXPECT_EQ(content(), "old");
  const test::FailingClose interrupted(EINTR);
  EXPECT_TRUE(replace_file(path_, "new")) << "it is closed all the same";
  EXPECT_EQ(content(), "new");
}

TEST_F(ReplaceFile, OtherWritersHearOfTheCloseToo) {
  for (const auto put : {append_text, overwrite_text}) {
    const test::FailingClose full(EDQUOT);
    EXPECT_FALSE(put(path_, "text"));
    EXPECT_EQ(errno, EDQUOT);
  }
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();  // into a file
  int code = 0;
  {
    const test::FailingClose full(EDQUOT);
    code = log::after_output(0);
  }
  testing::internal::GetCapturedStdout();
  EXPECT_HAS(testing::internal::GetCapturedStderr(), "standard output did not take all that was printed: Disk quota");
  EXPECT_EQ(code, static_cast<int>(ExitCode::internal));
}

/// Of a write that failed its own reason is told, and not that of the close behind it.
TEST_F(ReplaceFile, AHandleThatGoesLeavesTheReason) {
  FileHandle file(::open((folder_ / "other").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const test::FailingClose full(EDQUOT);
  errno = EFBIG;
  file.reset();
  EXPECT_EQ(errno, EFBIG);
}

TEST_F(ReplaceFile, CanBeAskedBefore) {
  EXPECT_TRUE(can_replace_file(path_));
  EXPECT_EQ(entries(), 0);
  EXPECT_TRUE(replace_file(path_, "old"));
  EXPECT_TRUE(can_replace_file(path_));
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(entries(), 1);
  EXPECT_FALSE(can_replace_file(folder_));
  EXPECT_EQ(errno, EISDIR);
  EXPECT_FALSE(can_replace_file(folder_ / "none" / "text"));
  EXPECT_EQ(errno, ENOENT);
  EXPECT_FALSE(can_replace_file("/dev/null")) << "a rename would put a file in its place";
  EXPECT_EQ(errno, ENOTSUP);
  const int out = ::dup(STDOUT_FILENO);
  ASSERT_NE(std::freopen(path_.c_str(), "a", stdout), nullptr);  // what /dev/stdout leads to is a file now
  const bool is_possible = can_replace_file("/dev/stdout");
  const int why = errno;
  std::fflush(stdout);
  ASSERT_EQ(::dup2(out, STDOUT_FILENO), STDOUT_FILENO);
  ::close(out);
  EXPECT_FALSE(is_possible);
  EXPECT_EQ(why, ENOTSUP);
}

TEST_F(ReplaceFile, WhatAKilledProcessLeftIsRemovedAndNothingElse) {
  const auto put = [&](const std::string& name) { std::ofstream(folder_ / name) << "text"; };
  for (const char* name : {"text.0-12.tmp", "text.13-4567.tmp"}) put(name);
  const std::vector<std::string> others = {"text",        "text.tmp",       "text.1-.tmp",   "text.-1.tmp",
                                           "text.12.tmp", "text.1-2",       "text.1-2x.tmp", "tex.1-2.tmp",
                                           "text1-2.tmp", "text.1-2-3.tmp", "text.tmp.tmp"};
  for (const std::string& name : others) put(name);
  remove_replacements(path_);
  for (const std::string& name : others) EXPECT_TRUE(fs::exists(folder_ / name)) << name;
  EXPECT_EQ(entries(), static_cast<std::ptrdiff_t>(others.size()));
  remove_replacements(folder_ / "none" / "text");  // no folder, nothing to do
}

}  // namespace
}  // namespace octet
