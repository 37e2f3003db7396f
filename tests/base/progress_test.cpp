#include "src/base/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace octet {
namespace {

TEST(TimeLeft, IsThatOfTheRestAtTheSamePace) {
  EXPECT_EQ(time_left(0.25, 10), ", 30 s left");
  EXPECT_EQ(time_left(0, 10), "") << "nothing is done yet";
  EXPECT_EQ(time_left(1, 10), "");
}

/// As with work in the background that outlives its terminal: hours of it are worth more than the line.
TEST(StatusLine, ATerminalThatIsGoneEndsNothing) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_EQ(grantpt(terminal) + unlockpt(terminal), 0);
  const int program = open(ptsname(terminal), O_RDWR | O_NOCTTY), before = dup(STDERR_FILENO);
  dup2(program, STDERR_FILENO);
  {
    StatusLine line;
    EXPECT_TRUE(line.on_terminal());
    close(terminal);
    EXPECT_EQ(write(STDERR_FILENO, "x", 1), -1) << "nobody takes what is written";
    EXPECT_NO_THROW(line.show("at work"));
    EXPECT_NO_THROW(line.show(""));
  }
  dup2(before, STDERR_FILENO);
  for (const int file : {before, program}) close(file);
  std::clearerr(stderr);
}

}  // namespace
}  // namespace octet
