#include "src/base/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>

namespace {

/// What the system does to this program's writes to one file.
struct Refusal {
  int file = -1;
  std::size_t room =
      0;  ///< bytes that it still takes, at most `at_once` a call; then it writes nothing and says nothing
  std::size_t at_once = 3;
  int interruptions = 0;  ///< before the next call
};
Refusal refusal;

template <typename Write>
ssize_t refuse(std::size_t bytes, const Write& write_some) {
  if (refusal.interruptions > 0) {
    --refusal.interruptions;
    errno = EINTR;
    return -1;
  }
  const std::size_t n = std::min({bytes, refusal.room, refusal.at_once});
  refusal.room -= n;
  errno = 0;
  return n == 0 ? 0 : write_some(n);
}

}  // namespace

// In place of libc's.
extern "C" ssize_t write(int file, const void* data, std::size_t bytes) {
  const auto next = [&](std::size_t n) { return syscall(SYS_write, file, data, n); };
  return file == refusal.file ? refuse(bytes, next) : next(bytes);
}
extern "C" ssize_t pwrite(int file, const void* data, std::size_t bytes, off_t offset) {
  const auto next = [&](std::size_t n) { return syscall(SYS_pwrite64, file, data, n, offset); };
  return file == refusal.file ? refuse(bytes, next) : next(bytes);
}

namespace octet {
namespace {

class WriteAll : public testing::Test {
 public:
  ~WriteAll() override {
    refusal = {};
    ::unlink(path_.c_str());
  }

 protected:
  WriteAll() : file_(::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {}
  std::string content() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::string path_ = testing::TempDir() + "octet-write-all-" + std::to_string(getpid());
  const FileHandle file_;
};

TEST_F(WriteAll, GoesOnAfterShortWritesAndInterruptions) {
  refusal = {.file = file_.get(), .room = 100, .interruptions = 2};
  EXPECT_TRUE(write_all(file_.get(), "0123456789"));
  EXPECT_TRUE(write_all_at(file_.get(), 4, "abcd", 4));
  EXPECT_EQ(content(), "0123abcd89");
}

TEST_F(WriteAll, NothingWrittenIsAFullDisk) {
  refusal = {.file = file_.get(), .room = 5};
  EXPECT_FALSE(write_all(file_.get(), "0123456789"));
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_EQ(content(), "01234");
  errno = 0;
  EXPECT_FALSE(write_all_at(file_.get(), 0, "abc", 3));
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_TRUE(write_all(file_.get(), "")) << "needs no room";
}

TEST(NotWritten, TellsAFullDiskFromAWrongPath) {
  errno = ENOSPC;
  EXPECT_EQ(not_written("data", "x.bin").code(), ExitCode::internal);
  errno = EDQUOT;
  EXPECT_EQ(not_written("data", "x.bin").code(), ExitCode::internal);
  errno = EROFS;  // a file system whose disk fails becomes read-only
  EXPECT_EQ(not_written("data", "x.bin").code(), ExitCode::internal);
  errno = EACCES;
  const Error wrong = not_written("data", "--output x");
  EXPECT_EQ(wrong.code(), ExitCode::usage);
  EXPECT_STREQ(wrong.what(), "[data] --output x: cannot be written: Permission denied");
}

TEST(NotMade, TellsAFullDiskFromAWrongPath) {
  errno = ENOSPC;
  EXPECT_EQ(not_made("data", "x").code(), ExitCode::internal);
  errno = EEXIST;
  const Error wrong = not_made("data", "x");
  EXPECT_EQ(wrong.code(), ExitCode::usage);
  EXPECT_STREQ(wrong.what(), "[data] x: cannot be made: File exists");
}

TEST_F(WriteAll, FilesByTheirNames) {
  EXPECT_TRUE(append_text(path_, "one\n"));
  EXPECT_TRUE(append_text(path_, "two\n"));
  EXPECT_EQ(content(), "one\ntwo\n");
  EXPECT_TRUE(overwrite_text(path_, "three\n"));
  EXPECT_EQ(content(), "three\n");
  EXPECT_FALSE(overwrite_text(path_ + "/inside", "x"));
  EXPECT_EQ(errno, ENOTDIR);
}

TEST_F(WriteAll, APipeThatNobodyReadsIsNotWaitedFor) {
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_FALSE(append_text(path_, "one\n"));
  EXPECT_EQ(errno, ENXIO);
  EXPECT_STREQ(not_written("data", path_).what(),
               ("[data] " + path_ + ": cannot be written: a pipe that nobody reads, or a socket").c_str());
  const FileHandle reader(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const FileHandle writer = open_to_write(path_.c_str(), O_WRONLY | O_APPEND);
  ASSERT_TRUE(writer);
  EXPECT_EQ(::fcntl(writer.get(), F_GETFL) & (O_NONBLOCK | O_APPEND), O_APPEND);  // a write waits for room again
  EXPECT_TRUE(write_all(writer.get(), "two\n"));
  char text[8] = {};
  EXPECT_EQ(::read(reader.get(), text, sizeof text), 4);
  EXPECT_STREQ(text, "two\n");
}

}  // namespace
}  // namespace octet
