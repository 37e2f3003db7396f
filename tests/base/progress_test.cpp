#include "src/base/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

namespace octet {
namespace {

TEST(TimeLeft, IsThatOfTheRestAtTheSamePace) {
  EXPECT_EQ(time_left(0.25, 10), ", 30 s left");
  EXPECT_EQ(time_left(0, 10), "") << "nothing is done yet";
  EXPECT_EQ(time_left(1, 10), "");
}

/// What lines on a terminal of 40 columns write to it.
std::string on_narrow_terminal(const std::function<void()>& lines) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  EXPECT_EQ(grantpt(terminal) + unlockpt(terminal), 0);
  const int program = open(ptsname(terminal), O_RDWR | O_NOCTTY), before = dup(STDERR_FILENO);
  const winsize size{.ws_row = 24, .ws_col = 40, .ws_xpixel = 0, .ws_ypixel = 0};
  EXPECT_EQ(ioctl(program, TIOCSWINSZ, &size), 0);
  dup2(program, STDERR_FILENO);
  lines();
  dup2(before, STDERR_FILENO);
  for (const int file : {before, program}) close(file);
  std::string written;
  std::array<char, 4096> block{};
  for (ssize_t n = 0; (n = read(terminal, block.data(), block.size())) > 0;) {
    written.append(block.data(), static_cast<std::size_t>(n));
  }
  close(terminal);
  return written;
}

/// A second row would stay on the screen at each redraw.
TEST(StatusLine, StaysOnOneRowOfItsTerminal) {
  std::string umlauts;
  for (int i = 0; i < 60; ++i) umlauts += "\u00e4";
  const std::string clear = "\r\033[K";
  const std::string written = on_narrow_terminal([&] {
    StatusLine line;
    line.show(std::string(60, 'x'));
    line.show(umlauts);
    line.show(std::string(38, 'y') + "z");
  });
  EXPECT_EQ(written, clear + std::string(39, 'x') + clear + umlauts.substr(0, 2 * 39) + clear + std::string(38, 'y') +
                         "z" + clear);
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
