#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "tests/metrics/cut_fixture.h"
#include "tests/support/error_of.h"

namespace octet::test {
namespace {

namespace fs = std::filesystem;

using History = CutFixture;

TEST_F(History, LaterStepsAreMovedAway) {
  write(path, "{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n{\"step\":4}\n");
  EXPECT_EQ(cut(3), 1);
  EXPECT_EQ(read(path), "{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n");
  EXPECT_EQ(read(discarded), "{\"step\":4}\n");
  EXPECT_EQ(cut(1), 2);
  EXPECT_EQ(read(path), "{\"step\":1}\n");
  EXPECT_EQ(read(discarded), "{\"step\":4}\n{\"step\":2}\n{\"step\":3}\n");
  EXPECT_EQ(cut(0), 1);
  EXPECT_EQ(read(path), "");
  EXPECT_EQ(read(discarded), "{\"step\":4}\n{\"step\":2}\n{\"step\":3}\n{\"step\":1}\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 2);
}

/// With train.log_every not every step has a line.
TEST_F(History, TheCheckpointsOwnStepNeedsNoLine) {
  write(path, "{\"step\":10}\n{\"step\":20}\n{\"step\":30}\n");
  EXPECT_EQ(cut(25), 1);
  EXPECT_EQ(read(path), "{\"step\":10}\n{\"step\":20}\n");
}

TEST_F(History, ACutOffLineIsNone) {
  write(path, "{\"step\":1}\n{\"step\":2,\"lo");
  EXPECT_EQ(cut(5), 1);
  EXPECT_EQ(read(path), "{\"step\":1}\n");
  EXPECT_EQ(read(discarded), "{\"step\":2,\"lo\n");
  write(path, "{\"step\":1}\n{\"step\":2}");  // all of it but for the newline
  EXPECT_EQ(cut(5), 1);
  EXPECT_EQ(read(path), "{\"step\":1}\n");
  write(path, "{\"step\":1}\nnothing\n[2]\n{\"loss\":2}\n{\"step\":\"2\"}\n");
  EXPECT_EQ(cut(5), 4);
  EXPECT_EQ(read(path), "{\"step\":1}\n");
  write(path, "{\"step\":1}\n" + std::string(9, '\0') + "\n{\"step\":2}" + std::string(9, '\0') + "\n");  // no power
  EXPECT_EQ(cut(5), 2);
  EXPECT_EQ(read(path), "{\"step\":1}\n");
}

TEST_F(History, WhatStaysIsNotTouched) {
  EXPECT_EQ(cut(5), 0);
  EXPECT_FALSE(fs::exists(path));
  write(path, "{\"step\":1}\n{\"step\":2}\n");
  std::ifstream open_before(path);
  EXPECT_EQ(cut(2), 0);
  EXPECT_FALSE(fs::exists(discarded));
  EXPECT_EQ(cut(1), 1);
  std::ofstream(path, std::ios::app) << "{\"step\":2,\"loss\":1}\n";
  std::ostringstream text;
  text << open_before.rdbuf();
  EXPECT_EQ(text.str(), read(path)) << "not the same file";
}

/// A quarter of a gigabyte, of which the disk has the end alone. Were it read, it would be found to be no line.
TEST_F(History, OfALongFileOnlyTheEndIsRead) {
  write(path, "");
  constexpr std::uintmax_t before = 1 << 28;
  fs::resize_file(path, before);
  const std::string end = "\n{\"step\":7}\n";
  std::ofstream(path, std::ios::app) << end << "{\"step\":8}\n";
  EXPECT_EQ(cut(7), 1);
  EXPECT_EQ(fs::file_size(path), before + end.size());
  EXPECT_EQ(read(discarded), "{\"step\":8}\n");
  struct stat there {};
  ASSERT_EQ(::stat(path.c_str(), &there), 0);
  EXPECT_LT(there.st_blocks * 512, 1 << 20) << "no copy";
}

/// More than is looked at first, with lines that do not end where a look begins.
TEST_F(History, ManyLinesMayGo) {
  std::string stays = "{\"step\":0}\n", goes;
  for (int step = 1; step <= 20'000; ++step) {
    (step <= 100 ? stays : goes) += fmt::format("{{\"step\":{},\"text\":\"{:0{}}\"}}\n", step, step, 100 + step % 97);
  }
  write(path, stays + goes);
  EXPECT_EQ(cut(100), 19'900);
  EXPECT_TRUE(read(path) == stays);
  EXPECT_TRUE(read(discarded) == goes);
  write(path, stays + goes);
  write(discarded, "{\"step\":5}\n" + goes);  // a call that was killed before it could cut
  EXPECT_EQ(cut(100), 19'900);
  EXPECT_TRUE(read(path) == stays);
  EXPECT_TRUE(read(discarded) == "{\"step\":5}\n" + goes);
}

TEST_F(History, AFailureNamesThePathAndKeepsTheLines) {
  const std::string text = "{\"step\":1}\n{\"step\":2}\n";
  write(path, text);
  fs::create_directory(discarded);
  EXPECT_HAS(error_of([&] { cut(1); }, ExitCode::internal), discarded);
  EXPECT_EQ(read(path), text);
}

/// A disk that has room for files of `bytes`.
class Room {
 public:
  explicit Room(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~Room() {
    setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, handler_);
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

 private:
  rlimit old_{};
  void (*handler_)(int) = std::signal(SIGXFSZ, SIG_IGN);
};

TEST_F(History, OnAFullDiskNothingIsMovedAndNothingIsLeft) {
  write(path, before);
  write(discarded, earlier);
  write(path + ".tmp", "of an older version");
  for (int start = 0; start < 3; ++start) {
    const Room room(earlier.size() + moved.size() - 1);
    EXPECT_EQ(error_of([&] { cut(last); }, ExitCode::internal),
              "[metrics] " + discarded + ": cannot be written: File too large");
    EXPECT_EQ(read(path), before);
    EXPECT_EQ(read(discarded), earlier);
    EXPECT_FALSE(fs::exists(path + ".tmp"));
  }
  EXPECT_EQ(cut(last), 3);
  EXPECT_EQ(read(path), stays);
  EXPECT_EQ(read(discarded), earlier + moved + "\n");
}

/// They began with every start anew and did not take back what they could not write.
TEST_F(History, WhatEarlierVersionsLeftOnAFullDiskIsTakenBack) {
  write(path, before);
  const std::string part = moved.substr(0, moved.size() / 2);
  write(discarded, earlier + part + part + moved + "\n" + moved.substr(0, 5));
  EXPECT_EQ(cut(last), 3);
  EXPECT_EQ(read(path), stays);
  EXPECT_EQ(read(discarded), earlier + moved + "\n");
}

}  // namespace
}  // namespace octet::test
