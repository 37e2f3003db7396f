#include "tests/support/run_command.h"

#include <gtest/gtest.h>

namespace octet::test {
namespace {

TEST(RunCommand, CapturesBothStreamsAndTheExitCode) {
  const CommandResult r = run_command("echo out; echo err >&2; exit 64");
  EXPECT_EQ(r.exit_code, 64);
  EXPECT_EQ(r.out, "out\n");
  EXPECT_EQ(r.err, "err\n");
  EXPECT_FALSE(r.timed_out);
}

TEST(RunCommand, TakesMoreThanAPipeHolds) {
  const CommandResult r = run_command("head -c 1000000 /dev/zero; head -c 300000 /dev/zero >&2");
  EXPECT_EQ(r.out.size(), 1000000u);
  EXPECT_EQ(r.err.size(), 300000u);
}

TEST(RunCommand, ReportsSignalsAsAShellDoes) {
  EXPECT_EQ(run_command("kill -SEGV $$").exit_code, 128 + SIGSEGV);
}

TEST(RunCommand, EndsWhatHangsWithItsChildren) {
  const CommandResult r = run_command("trap '' TERM; echo started; sleep 600 & wait; sleep 600", 0.3);
  EXPECT_TRUE(r.timed_out);
  EXPECT_EQ(r.exit_code, 128 + SIGKILL);
  EXPECT_EQ(r.out, "started\n");
}

TEST(RunCommand, HasNoStandardInput) {
  EXPECT_EQ(run_command("cat").out, "");
}

}  // namespace
}  // namespace octet::test
