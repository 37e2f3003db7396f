#include "src/metrics/appended_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "src/base/error.h"
#include "tests/metrics/file_calls.h"
#include "tests/support/error_of.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

struct Appended : testing::Test {
  Appended() { getrlimit(RLIMIT_FSIZE, &old_); }
  ~Appended() override {
    allow(old_.rlim_cur);
    std::signal(SIGXFSZ, handler_);
    fs::remove(path_);
  }
  /// As on a disk that has room for a file of so many bytes.
  void allow(rlim_t bytes) const {
    const rlimit limit{bytes, old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  std::string content() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::string error_of(const std::function<void()>& work) { return test::error_of(work, ExitCode::internal); }

  rlimit old_{};
  void (*handler_)(int) = std::signal(SIGXFSZ, SIG_IGN);
  const std::string path_ = testing::TempDir() + "octet-appended-" + std::to_string(getpid());
  const std::string refused_ = "[metrics] " + path_ + ": cannot be written: File too large";
};

TEST_F(Appended, AFullDiskCostsNoRecordOnceItHasRoom) {
  AppendedFile file(path_);
  file.add("one\n");
  allow(6);
  EXPECT_EQ(error_of([&] { file.add("two\n"); }), refused_);
  EXPECT_EQ(content(), "one\n") << "no part of a record";
  EXPECT_EQ(error_of([&] { file.add("three\n"); }), refused_);
  EXPECT_EQ(error_of([&] { file.sync(); }), refused_) << "a checkpoint waits for them";
  EXPECT_EQ(content(), "one\n");
  allow(old_.rlim_cur);
  file.add("four\n");
  EXPECT_EQ(content(), "one\ntwo\nthree\nfour\n");
  file.sync();
}

/// A file server that neither takes a record nor lets go of what it took of it.
TEST_F(Appended, APartThatCannotBeTakenBackIsCompleted) {
  AppendedFile file(path_);
  file.add("one\n");
  allow(6);
  test::file_calls() = {.cuts_nothing = true};
  EXPECT_EQ(error_of([&] { file.add("two\n"); }), refused_);
  EXPECT_EQ(content(), "one\ntw");
  EXPECT_EQ(error_of([&] { file.add("three\n"); }), refused_);
  test::file_calls() = {};
  allow(old_.rlim_cur);
  file.add("four\n");
  EXPECT_EQ(content(), "one\ntwo\nthree\nfour\n");
}

TEST_F(Appended, GoesOnBehindWhatIsThere) {
  AppendedFile(path_).add("one\n");
  AppendedFile(path_).add("two\n");
  EXPECT_EQ(content(), "one\ntwo\n");
}

TEST_F(Appended, AFileThatLostItsNameIsNotSynced) {
  AppendedFile file(path_);
  file.add("one\n");
  fs::remove(path_);
  EXPECT_NE(error_of([&] { file.sync(); }).find(path_ + ": was removed or replaced"), std::string::npos);
  std::ofstream(path_) << "another's\n";
  EXPECT_NE(error_of([&] { file.sync(); }).find(path_ + ": was removed or replaced"), std::string::npos);
}

}  // namespace
}  // namespace octet
