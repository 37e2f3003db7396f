#include "src/comm/failure.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <thread>
#include <vector>

#include "src/base/log.h"
#include "src/comm/communicator.h"
#include "src/comm/control_exchange.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "tests/support/failing_close.h"
#include "tests/support/no_threads.h"

namespace octet {
namespace {

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

TEST(Failure, TheFirstRankThatSpeaksLeavesOneLine) {
  const auto stream = cpu_device().make_stream();
  const auto world = make_mpi_communicator(*stream, "world");
  const std::string folder = broadcast_bytes(
      (std::filesystem::temp_directory_path() / fmt::format("octet-failure-{}", getpid())).string(), 0, *world);
  if (world->rank() == 0) std::filesystem::create_directories(folder);
  world->barrier();
  const std::string path = folder + "/failure.txt";
  int told = 0;
  log::set_identity(world->rank(), world->size(), "node");
  {
    const FailureFile file(
        path, [](ExitCode) { return true; }, [&](ExitCode, const std::string&) { ++told; });
    const bool first = leave_reason(ExitCode::unhealthy, "the GPU\nfell off " + std::string(10000, '.')).first;
    const LeftReason late = leave_reason(ExitCode::internal, "a consequence");
    EXPECT_FALSE(late.first || late.lost);
    EXPECT_EQ(told, 0) << "only tell_failure and the watchdog tell more than the files";
    const std::int32_t mine = first ? world->rank() : -1;
    std::int32_t firsts = first ? 1 : 0;
    world->all_reduce(&firsts, 1, DType::i32, ReduceOp::sum);
    EXPECT_EQ(firsts, 1);
    const auto lines = lines_of(path);
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_LE(lines[0].size(), 4096u);
    const std::regex form("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ \\S+ rank " +
                          std::to_string(largest(mine, *world)) + " exit code 76: the GPU fell off \\.+");
    EXPECT_TRUE(std::regex_match(lines[0].substr(0, 200), form)) << lines[0].substr(0, 200);
  }
  world->barrier();
  if (world->rank() == 0) std::filesystem::remove_all(folder);
  log::set_identity(0, 1, "");
  const LeftReason nowhere = leave_reason(ExitCode::internal, "nowhere");
  EXPECT_FALSE(nowhere.first || nowhere.lost) << "without a FailureFile";
}

/// The other file, which the environment names, is there or out of reach; then the run's.
TEST(Failure, AReasonIsLostWhereOneOfTheTwoFilesCannotHaveIt) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / fmt::format("octet-lost-{}", getpid());
  std::filesystem::create_directories(folder);
  const auto leave = [&](const std::string& environment, const std::string& run, bool may_write = true) {
    if (!environment.empty()) setenv("OCTET_FAILURE_FILE", (folder / environment).c_str(), 1);
    const FailureFile file(
        folder / run, [&](ExitCode) { return may_write; }, [](ExitCode, const std::string&) {});
    const LeftReason left = leave_reason(ExitCode::unhealthy, "a reason");
    unsetenv("OCTET_FAILURE_FILE");
    return left;
  };
  EXPECT_FALSE(leave("", "a").lost);
  EXPECT_FALSE(leave("", "a").lost) << "another has left one";
  const LeftReason nowhere = leave("", "gone/a");
  EXPECT_TRUE(nowhere.lost && !nowhere.first) << "the directory was moved: there is no status either";
  EXPECT_FALSE(leave("", "a").first) << "another has left one";
  const LeftReason others = leave("", "b", false);
  EXPECT_TRUE(others.lost && !others.first) << "the directory is another run's";
  EXPECT_FALSE(leave("c", "d").lost);
  EXPECT_TRUE(leave("e", "gone/a").lost);
  const LeftReason half = leave("gone/e", "f");
  EXPECT_TRUE(half.lost && half.first);
  EXPECT_EQ(lines_of(folder / "e"), std::vector<std::string>{fmt::format("76 rank 0 on {}: a reason", log::host())});
  std::filesystem::remove_all(folder);
}

/// On a network file system, whose server has no room for what is in memory: an empty file would pass for a reason.
TEST(Failure, AReasonThatTheCloseRefusesIsTakenBack) {
  const std::string path = std::filesystem::temp_directory_path() / fmt::format("octet-close-{}", getpid());
  const FailureFile file(
      path, [](ExitCode) { return true; }, [](ExitCode, const std::string&) {});
  LeftReason left;
  {
    const test::FailingClose full(EDQUOT);
    left = leave_reason(ExitCode::internal, "a reason");
  }
  EXPECT_TRUE(left.first && left.lost) << "as on a full disk";
  EXPECT_FALSE(std::filesystem::exists(path));
}

/// The watchdog ends this process; its main thread wakes when the file is being written, and leaves the run.
[[noreturn]] void wake_meanwhile() {
  using namespace std::chrono_literals;
  const std::filesystem::path path = std::filesystem::temp_directory_path() / fmt::format("octet-wake-{}", getpid());
  std::atomic<bool> asked = false;
  const auto may_write = [&](ExitCode) {
    asked = true;
    std::this_thread::sleep_for(200ms);
    return true;
  };
  const auto first = [&](ExitCode, const std::string& message) {
    std::filesystem::remove(path);
    std::fprintf(stderr, "told: %s\n", message.c_str());
  };
  std::optional<FailureFile> file(std::in_place, path, may_write, first);
  std::thread([] { end_by_watchdog(ExitCode::lost_peer, "a deadline"); }).detach();
  while (!asked) std::this_thread::yield();
  file.reset();
  std::this_thread::sleep_for(5s);
  _exit(0);
}

TEST(FailureDeathTest, IsToldByTheWatchdogAlsoWhereTheRunIsLeftMeanwhile) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(wake_meanwhile(), testing::ExitedWithCode(71), "told: a deadline");
}

TEST(FailureDeathTest, IsToldAlsoWhereNoThreadCanBeMade) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        const test::NoThreads none;
        tell_failure(ExitCode::unhealthy, "a reason");
        _exit(static_cast<int>(ExitCode::unhealthy));
      },
      testing::ExitedWithCode(76), "a reason");
}

}  // namespace
}  // namespace octet
