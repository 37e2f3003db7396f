// A job that saves checkpoints is ended, or its file system refuses, at every call of its write path (a seeded sample
// of them; all with OCTET_TEST_LONG). After each the next start must find a checkpoint that is whole and no older than
// the last one that was reported as committed.
#include <utility>

#include "src/base/error.h"
#include "tests/crash/crash_fixture.h"

namespace octet::checkpoint {
namespace {

using test::Crash;
using test::Ending;
using test::TemporaryDirectory;

TEST_F(Crash, TheWritePathHasManyCalls) {
  const long calls = count_calls();
  EXPECT_GE(calls, 200);
  EXPECT_EQ(count_calls(), calls) << "the points must be the same from run to run";
}

TEST_F(Crash, KilledBeforeACall) {
  sweep("kill", test::sample_size, [](const Ending& ending, const std::string& fault) {
    EXPECT_EQ(ending.exit_code, 128 + SIGKILL) << fault << "\n" << ending.text;
  });
}

TEST_F(Crash, KilledInTheMiddleOfAWrite) {
  sweep("torn", test::sample_size / 4, [](const Ending& ending, const std::string& fault) {
    EXPECT_EQ(ending.exit_code, 128 + SIGKILL) << fault << "\n" << ending.text;
  });
}

TEST_F(Crash, AShortWriteIsContinued) {
  sweep("short", test::sample_size / 4, [](const Ending& ending, const std::string& fault) {
    EXPECT_EQ(ending.exit_code, 0) << fault << "\n" << ending.text;
    EXPECT_EQ(ending.committed, test::steps) << fault;
  });
}

/// A job of three ranks, of which one is killed.
class CrashOfARank : public Crash {
 protected:
  void kill_at_some_points(int faulty, const std::string& arguments) {
    const std::string job = OCTET_BIN_DIR "/octet-saving-job " + root() + " 2 mpi " + arguments;
    const auto start = [&](const std::string& more) {
      std::filesystem::remove_all(root());
      std::string ranks;
      for (int r = 0; r < 3; ++r) ranks += " : -n 1 " + (r == faulty ? "env " + with_faults(more) + " " : "") + job;
      return test::run_command("mpiexec" + ranks.substr(2));
    };
    const TemporaryDirectory outside;
    ASSERT_EQ(start("OCTET_FAULT_COUNT=" + (outside / "count")).exit_code, 0);
    const long calls = std::atol(test::content_of(outside / "count").c_str());
    ASSERT_GT(calls, 20) << "this rank has a file to write";
    for (const long k : test::points(calls, 4)) {
      const std::string fault = "kill:" + std::to_string(k);
      const Ending before = start("OCTET_FAULT=" + fault);
      EXPECT_NE(before.exit_code, 0) << fault;
      const Ending after = test::run_job(root(), 3);
      ASSERT_EQ(after.exit_code, 0) << fault << "\n" << before.text << after.text;
      EXPECT_GE(after.found, before.committed) << fault << "\n" << before.text << after.text;
      EXPECT_EQ(after.committed, 3) << fault;
    }
  }
};

TEST_F(CrashOfARank, OneOfThree) {
  kill_at_some_points(1, "");
}

TEST_F(CrashOfARank, TheOneThatWritesForItsNode) {
  kill_at_some_points(0, "1");
}

/// A damaged step is saved again in place of the damaged one.
class Replacement : public Crash, public testing::WithParamInterface<const char*> {
 protected:
  std::string file_of(std::int64_t step) const { return root() + "/" + directory_name(step) + "/" + file_name(0); }
  Ending replace(const std::string& more) {
    std::filesystem::remove_all(root());
    EXPECT_EQ(test::run_job(root(), 2).exit_code, 0);
    test::flip_bit(file_of(2), 500);
    return test::run_job(root(), 2, with_faults(more + " " + GetParam()));
  }
};

TEST_P(Replacement, KilledBeforeACall) {
  const TemporaryDirectory outside;
  const Ending whole = replace("OCTET_FAULT_COUNT=" + (outside / "count"));
  ASSERT_EQ(whole.exit_code, 0) << whole.text;
  EXPECT_EQ(whole.found, 1) << whole.text;
  for (const long k : test::points(std::atol(test::content_of(outside / "count").c_str()), test::sample_size / 4)) {
    const Ending before = replace("OCTET_FAULT=kill:" + std::to_string(k));
    EXPECT_EQ(before.exit_code, 128 + SIGKILL) << k << "\n" << before.text;
    const Ending after = test::run_job(root(), 3);
    ASSERT_EQ(after.exit_code, 0) << k << "\n" << before.text << after.text;
    EXPECT_GE(after.found, before.committed) << k << "\n" << after.text;
    EXPECT_EQ(after.committed, 3) << k;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Replacement, testing::Values("", "OCTET_FAULT_NO_EXCHANGE=1"),
                         [](const auto& kind) { return std::string(*kind.param == 0 ? "exchange" : "two_renames"); });

/// From some call on the file system refuses. The job ends with a message, or well if nothing that matters was refused.
class Refusal : public Crash, public testing::WithParamInterface<std::pair<const char*, const char*>> {};

TEST_P(Refusal, EndsWithAMessage) {
  const auto& [kind, reason] = GetParam();
  bool failed = false;
  sweep(kind, test::sample_size / 4, [&, why = reason](const Ending& ending, const std::string& fault) {
    if (ending.exit_code == 0) {
      EXPECT_EQ(ending.committed, test::steps) << fault << "\n" << ending.text;
      return;
    }
    failed = true;
    EXPECT_EQ(ending.exit_code, static_cast<int>(ExitCode::internal)) << fault << "\n" << ending.text;
    EXPECT_NE(ending.text.find(why), std::string::npos) << fault << "\n" << ending.text;
    EXPECT_NE(ending.text.find("rank 0 on "), std::string::npos) << fault << "\n" << ending.text;
  });
  EXPECT_TRUE(failed);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Refusal,
                         testing::Values(std::pair{"enospc", "No space left on device"},
                                         std::pair{"zero", "No space left on device"},
                                         std::pair{"erofs", "Read-only file system"},
                                         std::pair{"eio", "Input/output error"}),
                         [](const auto& kind) { return std::string(kind.param.first); });

}  // namespace
}  // namespace octet::checkpoint
