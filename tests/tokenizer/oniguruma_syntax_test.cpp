#include "src/tokenizer/pattern/oniguruma_syntax.h"

#include <gtest/gtest.h>

#include "src/tokenizer/split/make_splitter.h"
#include "tests/tokenizer/tokenizer_support.h"

namespace octet {
namespace {

using Pieces = std::vector<std::string>;

SplitStep step_of(const std::string& pattern, SplitStep::Kind kind = SplitStep::Kind::pattern) {
  const TranslatedPattern translated = translate_oniguruma(pattern);
  EXPECT_EQ(translated.refused, "") << pattern;
  std::string refused;
  SplitStep step{.kind = kind, .pattern = CompiledPattern::compile(translated.pcre2, refused)};
  EXPECT_EQ(refused, "") << pattern;
  return step;
}

Pieces pieces_of(const std::vector<SplitStep>& steps, std::string_view text) {
  const auto splitter = make_splitter(steps);
  splitter->start(text);
  Pieces pieces;
  for (std::string_view piece = splitter->next(); !piece.empty(); piece = splitter->next()) pieces.emplace_back(piece);
  return pieces;
}

Pieces pieces_by(const std::string& pattern, std::string_view text) {
  return pieces_of({step_of(pattern)}, text);
}

// What the pieces should be is what tokenizers 0.23.3 gives.
TEST(OnigurumaSyntax, MeansWhatOnigurumaMakesOfIt) {
  EXPECT_EQ(pieces_by(R"(\d{1,3}+)", "12345678"), Pieces{"12345678"});  // not possessive: repeated
  EXPECT_EQ(pieces_by(R"(\d{,2})", "1234a"), (Pieces{"12", "34", "a"}));
  EXPECT_EQ(pieces_by("a{x", "a{x"), Pieces{"a{x"});
  EXPECT_EQ(pieces_by("a{,}", "aa{,}"), (Pieces{"a", "a{,}"}));
  EXPECT_EQ(pieces_by("a$", "a\nba"), (Pieces{"a", "\nb", "a"}));
  EXPECT_EQ(pieces_by("$", "a\nb\n"), (Pieces{"a", "\nb", "\n"}));
  EXPECT_EQ(pieces_by("^", "a\nb\n"), (Pieces{"a\n", "b\n"}));
  EXPECT_EQ(pieces_by(R"(\Z)", "ab\n"), (Pieces{"ab", "\n"}));
  EXPECT_EQ(pieces_by(R"(\v)", "\x0B\n"), (Pieces{"\x0B", "\n"}));
  EXPECT_EQ(pieces_by("[^a[bc]]", "abcde"), (Pieces{"abc", "d", "e"}));
  EXPECT_EQ(pieces_by(R"([(\s|[.,!])]+)", "(a .[b]"), (Pieces{"(", "a", " .", "[b]"}));
  EXPECT_EQ(pieces_by(R"(\u0041|\x{42}|\x43)", "ABCD"), (Pieces{"A", "B", "C", "D"}));
  EXPECT_EQ(pieces_by("(?=(\\d{3})+(?!\\d))", "1234567 12"), (Pieces{"1", "234", "567 12"}));
  EXPECT_EQ(pieces_by("", "a\u00E9c"), (Pieces{"a", "\u00E9", "c"}));
  EXPECT_EQ(pieces_by("x*", "axb"), (Pieces{"a", "x", "b"}));
  EXPECT_EQ(pieces_by("(?i:[k])", "K\u212Ak"), (Pieces{"K", "\u212A", "k"}));
  EXPECT_EQ(pieces_by("(?<=a|bc)d", "adbcdd"), (Pieces{"a", "d", "bc", "d", "d"}));
  EXPECT_EQ(pieces_by(R"([^\S\n]+)", "a \n\u180E\u2003"), (Pieces{"a", " ", "\n\u180E", "\u2003"}));
}

TEST(OnigurumaSyntax, WhatMayMeanSomethingElseIsRefusedByName) {
  const auto refused = [](const char* pattern) { return translate_oniguruma(pattern).refused; };
  for (const char* pattern : {R"(\h)", R"(\b)", R"(\w)", R"(\R)", R"(\X)", R"(\K)", R"(\G)", R"(\1)", R"(\pL)"}) {
    EXPECT_HAS(refused(pattern), std::string(pattern).substr(0, 2) + " at its byte 1: the only letters supported")
        << pattern;
  }
  EXPECT_HAS(refused("a[b-d&&c]"), "&& at its byte");
  EXPECT_HAS(refused("[[:alpha:]]"), "[: at its byte");
  EXPECT_HAS(refused("[a[^b]]"), "[^ at its byte");
  EXPECT_HAS(refused(R"([\P{L}a])"), R"(\P{L} at its byte 6: it is not supported within a class)");
  EXPECT_HAS(refused(R"(\p{Mn})"), R"(\p{Mn at its byte)");
  EXPECT_HAS(refused(R"(\p{Letter)"), R"(\p{Letter at its byte)");
  for (const char* pattern : {"(?<a>b)", "(?i)a", "(?x: a)", "(?m:.)", "(?#a)", "(?~a)"}) {
    EXPECT_HAS(refused(pattern), std::string(pattern).substr(0, 4) + " at its byte") << pattern;
  }
  for (const char* pattern :
       {"(?i:ss)", "(?i:xfL)", "(?i:\u00DF)", "(?i:s{2})", "(?i:f+)", "(?i:[^a])", "(?i:\\p{Lu})"}) {
    EXPECT_NE(refused(pattern), "") << pattern;
  }
  for (const char* pattern :
       {"(a",        "a)",        "[a", "[]a]",          "[",       "a**",     "a+?+",     "*a",
        "a|?",       "(?=a)*",    "$+", "a{3}?",         "a{3,2}",  "a{1001}", "[b-a]",    "[a-c-e]",
        R"([\d-x])", R"([a-\d])", "\\", R"(\x{110000})", R"(\xFF)", R"(\u12)", R"(\x{41)", "\xFF"}) {
    EXPECT_NE(refused(pattern), "") << pattern;
  }
  EXPECT_NE(refused(std::string(100, '(').c_str()), "");
}

TEST(OnigurumaSyntax, CharactersAreThoseOfUnicode16) {
  const auto count = [](const std::string& pattern) {
    const PatternMatcher matcher(step_of(pattern).pattern);
    int found = 0;
    for (std::uint32_t c = 0; c < 0x110000; ++c) {
      if (c == 0xD800) c = 0xE000;
      char text[4];
      std::size_t size = 0;
      const auto put = [&](std::uint32_t byte) { text[size++] = static_cast<char>(byte); };
      if (c < 0x80) {
        put(c);
      } else if (c < 0x800) {
        put(0xC0 | c >> 6), put(0x80 | (c & 0x3F));
      } else if (c < 0x10000) {
        put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
      } else {
        put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
      }
      found += matcher.find({text, size}, 0, true) ? 1 : 0;
    }
    return found;
  };
  EXPECT_EQ(count(R"(\p{L})"), 141028);
  EXPECT_EQ(count(R"(\p{N})"), 1911);
  EXPECT_EQ(count(R"(\s)"), 25);
  EXPECT_EQ(count(R"([^\p{Lo}\p{M}])"), 0x110000 - 0x800 - 136477 - 2501);
  EXPECT_EQ(count(R"(\p{Han})"), 99030);
}

TEST(PatternSplitter, MatchesAloneLeaveOutTheRest) {
  EXPECT_EQ(pieces_of({step_of("[a-z]+", SplitStep::Kind::matches)}, "1ab 2cd3"), (Pieces{"ab", "cd"}));
  EXPECT_EQ(pieces_of({step_of("[a-z]+", SplitStep::Kind::matches)}, "123"), Pieces{});
}

TEST(PatternSplitter, EachStepCutsThePiecesOfTheOneBefore) {
  // The second does not see what stands before a piece or behind it.
  EXPECT_EQ(pieces_of({step_of("[0-9]"), step_of("^b|c(?=1)|(?<=1)b")}, "a1b1c1c"),
            (Pieces{"a", "1", "b", "1", "c", "1", "c"}));
  EXPECT_EQ(pieces_of({step_of("1"), step_of("b(?!\\z)|b")}, "bb1b"), (Pieces{"b", "b", "1", "b"}));
  EXPECT_EQ(pieces_of({SplitStep(), step_of("l")}, "Hello, all"), (Pieces{"He", "l", "l", "o", ",", " a", "l", "l"}));
}

TEST(PatternSplitter, LongTextsAndOddOnes) {
  const std::string digits(200000, '7');
  EXPECT_EQ(pieces_by("(?:7|8)+", digits), Pieces{digits});  // takes more than the first stack of the machine code
  EXPECT_HAS(test::error_of([] { pieces_by("a", "b\xFF"); }), "is no UTF-8");
  EXPECT_HAS(test::error_of([] { pieces_by("(?:a+)+$", std::string(40, 'a') + "b"); }),
             "PCRE2 gives up on the pattern");
  EXPECT_EQ(pieces_by("a", ""), Pieces{});
  std::string refused;
  EXPECT_EQ(CompiledPattern::compile("(?<=a+)b", refused), nullptr);
  EXPECT_HAS(refused, "lookbehind");
}

}  // namespace
}  // namespace octet
