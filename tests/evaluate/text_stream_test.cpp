#include "src/evaluate/text_stream.h"

#include <gtest/gtest.h>

#include <string_view>

#include "src/tokenizer/make_tokenizer.h"

namespace octet {
namespace {

/// The pieces of a text whose bytes are tokens; an empty one for a token that tells nothing.
std::vector<std::string> pieces(std::string_view bytes, std::string* rest = nullptr) {
  const auto tokenizer = make_tokenizer("bytes");
  TextStream stream(*tokenizer, 'x');
  std::vector<std::string> out;
  for (const char byte : bytes) out.push_back(stream.add(static_cast<unsigned char>(byte)));
  const std::string end = stream.finish();
  if (rest != nullptr) *rest = end;
  return out;
}

TEST(TextStream, TellsWholeCharacters) {
  EXPECT_EQ(pieces("a\xC3\xA9z"), (std::vector<std::string>{"a", "", "\xC3\xA9", "z"}));
  EXPECT_EQ(pieces("\xE2\x82\xAC"), (std::vector<std::string>{"", "", "\xE2\x82\xAC"}));
  EXPECT_EQ(pieces("\xF0\x9F\x98\x80!"), (std::vector<std::string>{"", "", "", "\xF0\x9F\x98\x80", "!"}));
}

TEST(TextStream, DoesNotWaitForWhatNoByteMakesWhole) {
  EXPECT_EQ(pieces("\xFF"
                   "a"),
            (std::vector<std::string>{"\xEF\xBF\xBD", "a"}));
  EXPECT_EQ(pieces("\xE2"
                   "a"),
            (std::vector<std::string>{"",
                                      "\xEF\xBF\xBD"
                                      "a"}));
  EXPECT_EQ(pieces("\xC0\x80"), (std::vector<std::string>{"\xEF\xBF\xBD", "\xEF\xBF\xBD"}));
}

/// A beginning that never becomes whole does not take the character behind it along.
TEST(TextStream, WaitsForTheCharacterBehindABrokenOne) {
  EXPECT_EQ(pieces("\xE4\xCA\xB7"), (std::vector<std::string>{"", "", "\xEF\xBF\xBD\xCA\xB7"}));
  EXPECT_EQ(pieces("\xDD\xCF\xA1"), (std::vector<std::string>{"", "", "\xEF\xBF\xBD\xCF\xA1"}));
}

TEST(TextStream, TellsTheRestAtTheEnd) {
  std::string rest;
  EXPECT_EQ(pieces("a\xE2\x82", &rest), (std::vector<std::string>{"a", "", ""}));
  EXPECT_EQ(rest, "\xEF\xBF\xBD");
  pieces("ab", &rest);
  EXPECT_EQ(rest, "");
}

}  // namespace
}  // namespace octet
