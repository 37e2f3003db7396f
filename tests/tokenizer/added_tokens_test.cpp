#include "src/tokenizer/bpe/added_tokens.h"

#include <gtest/gtest.h>

namespace octet {
namespace {

/// Text as it is cut: plain parts in brackets, ids of tokens between them.
std::string cut(const std::vector<AddedToken>& tokens, std::string_view text, bool control_tokens = false) {
  std::string out;
  AddedTokens(tokens, control_tokens)
      .cut(
          text, [&](std::string_view plain) { out += "[" + std::string(plain) + "]"; },
          [&](std::int32_t id) { out += std::to_string(id); });
  return out;
}

TEST(AddedTokens, TheFirstAndOfThoseTheLongest) {
  const std::vector<AddedToken> tokens = {{"ab", 1}, {"abc", 2}, {"bcde", 3}, {"x", 4}};
  EXPECT_EQ(cut(tokens, "zabcdeab"), "[z]2[de]1");
  EXPECT_EQ(cut(tokens, "abdbcde"), "1[d]3");
  EXPECT_EQ(cut(tokens, "xxbcd"), "44[bcd]");
  EXPECT_EQ(cut(tokens, "x"), "4");
  EXPECT_EQ(cut(tokens, "zx"), "[z]4");
  EXPECT_EQ(cut(tokens, ""), "");
  EXPECT_EQ(cut({}, "ab"), "[ab]");
}

TEST(AddedTokens, OnesThatAreNormalizedComeSecond) {
  const std::vector<AddedToken> tokens = {{.text = "abc", .id = 1, .normalized = true}, {.text = "cd", .id = 2}};
  EXPECT_EQ(cut(tokens, "abcd"), "[ab]2");
  EXPECT_EQ(cut(tokens, "abcabcd"), "1[ab]2");
}

// As tokenizers 0.23.3 does it with encode_special_tokens.
TEST(AddedTokens, ASpecialOneHidesWhatIsWithinIt) {
  const std::vector<AddedToken> tokens = {{.text = "<x>", .id = 1, .special = true}, {.text = "x>y", .id = 2}};
  EXPECT_EQ(cut(tokens, "<x>y x>y"), "[<x>y ]2");
  EXPECT_EQ(cut(tokens, "<x>y x>y", true), "1[y ]2");
  EXPECT_EQ(cut({tokens[0]}, "<x>y"), "[<x>y]");
}

TEST(AddedTokens, KnowWhereOneMightSpan) {
  const AddedTokens tokens({{"a\nbc", 1}}, false);
  EXPECT_TRUE(tokens.may_span("xa\nbc", 3));
  EXPECT_TRUE(tokens.may_span("xa\nb", 3));
  EXPECT_FALSE(tokens.may_span("xa\nbd", 3));
  EXPECT_FALSE(tokens.may_span("xx\nbc", 3));
  EXPECT_FALSE(tokens.may_span("a\nbc", 4));
  EXPECT_FALSE(AddedTokens().may_span("ab", 1));
}

}  // namespace
}  // namespace octet
