#include "src/base/printable.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "src/base/log.h"
#include "tests/support/expect_has.h"

namespace octet {
namespace {

using namespace std::string_literals;

const std::string hostile = "a\x1b[31mb\r\x08\0c\x7f"s + "d\xC2\x9B" + "1m";

TEST(Printable, SpellsControlCharactersOutAndLeavesTheRest) {
  EXPECT_EQ(printable(hostile), "a\\x1b[31mb\\x0d\\x08\\x00c\\u007fd\\u009b1m");
  const std::string fine = "two lines\n\tand \xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80 \xC2\xA0 \\n";
  EXPECT_EQ(printable(fine), fine);
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, OfBytesThatAreNoCharacterThoseThatATerminalObeysAreSpelled) {
  // Latin-1's é stays; CSI in one byte, in the middle of a character and as a long form does not.
  EXPECT_EQ(printable("caf\xE9 \x9B"), "caf\xE9 \\x9b");
  EXPECT_EQ(printable("\xE4\xB8\x1b"), "\xE4\xB8\\x1b");
  EXPECT_EQ(printable("\xC1\x9B"), "\xC1\\x9b");
  EXPECT_EQ(printable("\xE0\x82\x9B"), "\xE0\\x82\\x9b");
}

TEST(Printable, ReadableIsOneLineOfUtf8) {
  EXPECT_EQ(readable("a\nb\tc"), "a\\nb\\tc");
  EXPECT_EQ(readable(hostile), printable(hostile));
  EXPECT_EQ(readable("\xC3\xA9 \xE9"), "\xC3\xA9 \\xe9");
}

TEST(Printable, CutsBetweenCharacters) {
  EXPECT_EQ(cut_off("abc", 3), "abc");
  EXPECT_EQ(cut_off("abcd", 3), "abc...");
  EXPECT_EQ(cut_off("ab\xE4\xB8\xAD", 4), "ab...");
}

/// What standard output has when `use` has run with it on a terminal.
template <typename Use>
std::string on_terminal(const Use& use) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  EXPECT_EQ(grantpt(terminal) + unlockpt(terminal), 0);
  const int program = open(ptsname(terminal), O_RDWR | O_NOCTTY);
  const int before = dup(STDOUT_FILENO);
  dup2(program, STDOUT_FILENO);
  std::string text = use();
  dup2(before, STDOUT_FILENO);
  for (const int file : {before, program, terminal}) close(file);
  return text;
}

TEST(Printable, ATerminalAloneGetsTextsOfOthersChanged) {
  EXPECT_EQ(on_terminal([] { return printable_on_terminal(hostile); }), printable(hostile));
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const int before = dup(STDOUT_FILENO);
  dup2(pipe_ends[1], STDOUT_FILENO);
  const std::string piped = printable_on_terminal(hostile);
  dup2(before, STDOUT_FILENO);
  for (const int file : {before, pipe_ends[0], pipe_ends[1]}) close(file);
  EXPECT_EQ(piped, hostile);
}

TEST(Log, NoLineHasControlCharacters) {
  testing::internal::CaptureStdout();
  log::out("{}", hostile);
  log::out("one\ntwo");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), printable(hostile) + "\none\ntwo\n");
  const std::string at_once = "a?[31mb???c?d??1m";
  testing::internal::CaptureStderr();
  log::info("{}", hostile);
  log::warning("{}", hostile);
  log::error("{}", hostile);
  log::write_of_rank(log::Level::warning, hostile);
  log::write_error_at_once(hostile);
  const std::string told = testing::internal::GetCapturedStderr();
  std::size_t lines = 0;
  for (std::size_t at = told.find(printable(hostile)); at != std::string::npos;
       at = told.find(printable(hostile), at + 1))
    ++lines;
  EXPECT_EQ(lines, 4u) << told;
  EXPECT_HAS(told, at_once);
  for (const char* part : {"b\r", "\x7f", "\xC2\x9B"}) EXPECT_EQ(told.find(part), std::string::npos) << told;
}

}  // namespace
}  // namespace octet
