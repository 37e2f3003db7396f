// The cut of metrics.jsonl where the process is killed or the machine loses its power in the midst of it.
#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

#include "tests/metrics/cut_fixture.h"
#include "tests/metrics/file_calls.h"

namespace octet::test {

FileCalls& file_calls() {
  static FileCalls calls;
  return calls;
}

namespace {

/// True where the process is to die, unless it is in this call.
bool dies(const char* name, int file) {
  FileCalls& calls = file_calls();
  calls.made.push_back(name + (" " + std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file)).string()));
  return static_cast<int>(calls.made.size()) == calls.dies_at;
}

}  // namespace
}  // namespace octet::test

extern "C" ssize_t pwrite(int file, const void* data, size_t bytes, off_t offset) {
  const bool last = octet::test::dies("pwrite", file);
  if (last && octet::test::file_calls().torn) syscall(SYS_pwrite64, file, data, bytes / 2, offset);
  if (last) std::raise(SIGKILL);
  return syscall(SYS_pwrite64, file, data, bytes, offset);
}

extern "C" int ftruncate(int file, off_t bytes) noexcept {
  if (octet::test::dies("ftruncate", file)) std::raise(SIGKILL);
  if (octet::test::file_calls().cuts_nothing) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(syscall(SYS_ftruncate, file, bytes));
}

extern "C" int fsync(int file) {
  if (octet::test::dies("fsync", file)) std::raise(SIGKILL);
  return 0;  // the tests' files need not outlive the machine
}

namespace octet::test {
namespace {

struct CutOff : CutFixture {
  void SetUp() override {
    write(path, before);
    write(discarded, earlier);
  }
  /// A cut in a process of its own that is killed in its call with that number. False where it has fewer.
  bool kill_at(int call, bool torn) const {
    const pid_t child = fork();
    if (child == 0) {
      file_calls() = {.dies_at = call, .torn = torn};
      cut(last);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
  }
  void expect_nothing_lost() const {
    const std::string there = read(discarded);
    EXPECT_TRUE(read(path) == before || (read(path) == stays && there == earlier + moved + "\n"))
        << read(path) << there;
    EXPECT_TRUE(there.starts_with(earlier)) << there;
  }
  /// After another start, every line stands once: those of the steps that stay, and those that were discarded.
  void expect_whole_after_a_cut() const {
    cut(last);
    EXPECT_EQ(read(path), stays);
    EXPECT_TRUE(read(discarded).starts_with(earlier)) << read(discarded);
    EXPECT_TRUE(read(discarded).ends_with(moved + "\n")) << read(discarded);
    EXPECT_EQ(readable(discarded), (std::vector<std::string>{R"({"loss":6.125,"step":3})", R"({"loss":5.5,"step":4})",
                                                             R"({"loss":5.25,"step":5})"}));
  }
};

/// What the file loses has to be on the disk before.
TEST_F(CutOff, TheOtherFileIsSyncedBeforeLinesGo) {
  file_calls() = {};
  cut(last);
  const std::string there = std::filesystem::canonical(folder.path());
  const std::string metrics = there + "/metrics.jsonl", lost = there + "/metrics.discarded.jsonl";
  EXPECT_EQ(file_calls().made,
            (std::vector<std::string>{"ftruncate " + lost, "pwrite " + lost, "fsync " + lost, "fsync " + there,
                                      "ftruncate " + metrics, "fsync " + metrics}));
}

TEST_F(CutOff, ByAKillAtAnyCallOfAnyTwoStarts) {
  constexpr int calls = 6;  // of the test above
  for (const bool torn : {false, true}) {
    for (int first = 1; first <= calls; ++first) {
      for (int second = 1; second <= calls + 1; ++second) {
        SCOPED_TRACE(fmt::format("{}, {}{}", first, second, torn ? ", torn" : ""));
        SetUp();
        EXPECT_TRUE(kill_at(first, torn));
        expect_nothing_lost();
        EXPECT_EQ(kill_at(second, torn), second <= (first == calls ? 0 : calls));  // it was done but for the last sync
        expect_nothing_lost();
        expect_whole_after_a_cut();
      }
    }
  }
}

/// A start from an earlier checkpoint moves more lines, also those that an unfinished one had moved.
TEST_F(CutOff, AndTheNextStartIsFromAnEarlierCheckpoint) {
  ASSERT_TRUE(kill_at(5, false));  // both files have the lines
  ASSERT_EQ(readable(discarded).size(), 3u);
  EXPECT_EQ(cut(1), 5);
  EXPECT_EQ(read(path), stays.substr(0, stays.find('\n') + 1));
  EXPECT_EQ(read(discarded), earlier + stays.substr(stays.find('\n') + 1) + moved + "\n");
}

/// Of what was not synced the file has its length, less, or zeros in the place of some of it.
TEST_F(CutOff, ByAPowerLossThatLeavesAnyPartOfWhatWasWritten) {
  const std::string written = moved + "\n";
  for (std::size_t bytes = written.size() % 5; bytes <= written.size(); bytes += 5) {
    for (std::size_t begin = 0; begin <= bytes; begin += 3) {  // the first line's newline too
      for (const std::size_t zeros : {0, 1, 8, 30}) {
        if (begin + zeros > bytes) continue;
        SCOPED_TRACE(fmt::format("{} bytes, of which {} from {} on are zero", bytes, zeros, begin));
        write(path, before);
        write(discarded, earlier + written.substr(0, bytes).replace(begin, zeros, zeros, '\0'));
        expect_whole_after_a_cut();
      }
    }
  }
}

}  // namespace
}  // namespace octet::test
