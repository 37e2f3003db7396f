#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "src/tokenizer/split/llama3.h"

namespace octet {
namespace {

using Pieces = std::vector<std::string>;

Pieces pieces_of(std::string_view text) {
  Pieces pieces;
  Llama3Split{}.for_each_piece(text, [&](std::string_view piece) { pieces.emplace_back(piece); });
  return pieces;
}

// What the pieces should be was read from the pattern; tokenizers 0.23.3 gives the same.
TEST(Llama3Split, WordsTakeOneCharacterBeforeThem) {
  EXPECT_EQ(pieces_of("Hello, world"), (Pieces{"Hello", ",", " world"}));
  EXPECT_EQ(pieces_of("(a)\tb.c"), (Pieces{"(a", ")", "\tb", ".c"}));
  EXPECT_EQ(pieces_of("\u00A0x\u3000\u4E2D\u6587"), (Pieces{"\u00A0x", "\u3000\u4E2D\u6587"}));
  EXPECT_EQ(pieces_of("\nx"), (Pieces{"\n", "x"}));
  EXPECT_EQ(pieces_of("1x"), (Pieces{"1", "x"}));
}

TEST(Llama3Split, ContractionsInAnyCase) {
  EXPECT_EQ(pieces_of("it's'S"), (Pieces{"it", "'s", "'S"}));
  EXPECT_EQ(pieces_of("we'REad"), (Pieces{"we", "'RE", "ad"}));
  EXPECT_EQ(pieces_of("I'm'll've'd't"), (Pieces{"I", "'m", "'ll", "'ve", "'d", "'t"}));
  EXPECT_EQ(pieces_of("'\u017Fa"), (Pieces{"'\u017F", "a"}));
  EXPECT_EQ(pieces_of("'rx'l'v"), (Pieces{"'rx", "'l", "'v"}));
  EXPECT_EQ(pieces_of("''s '"), (Pieces{"''", "s", " '"}));
  EXPECT_EQ(pieces_of(" 's"), (Pieces{" '", "s"}));
}

TEST(Llama3Split, NumbersByThree) {
  EXPECT_EQ(pieces_of("12345 67"), (Pieces{"123", "45", " ", "67"}));
  EXPECT_EQ(pieces_of("\u0663\u00BD\u2460\u0664"), (Pieces{"\u0663\u00BD\u2460", "\u0664"}));
}

TEST(Llama3Split, SymbolsTakeASpaceAndTheLinesThatEndBehindThem) {
  EXPECT_EQ(pieces_of(" ->\r\n\nx"), (Pieces{" ->\r\n\n", "x"}));
  EXPECT_EQ(pieces_of("\t->"), (Pieces{"\t", "->"}));
  EXPECT_EQ(pieces_of("\U0001F600\U0001F469\u200D!"), (Pieces{"\U0001F600\U0001F469\u200D!"}));
  EXPECT_EQ(pieces_of("e\u0301x"), (Pieces{"e", "\u0301x"}));
}

TEST(Llama3Split, SpacesLeaveTheLastToWhatFollows) {
  EXPECT_EQ(pieces_of("a   b"), (Pieces{"a", "  ", " b"}));
  EXPECT_EQ(pieces_of("a   1"), (Pieces{"a", "  ", " ", "1"}));
  EXPECT_EQ(pieces_of("a   "), (Pieces{"a", "   "}));
  EXPECT_EQ(pieces_of(" \n \r\n  b"), (Pieces{" \n \r\n", " ", " b"}));
  EXPECT_EQ(pieces_of("a\n  "), (Pieces{"a", "\n", "  "}));
  EXPECT_EQ(pieces_of("\u2003\u2003\u2003x"), (Pieces{"\u2003\u2003", "\u2003x"}));
  EXPECT_EQ(pieces_of(""), Pieces{});
}

TEST(Llama3Split, CharactersAreThoseOfUnicode16) {
  EXPECT_EQ(pieces_of("a\U00013460b"), (Pieces{"a\U00013460b"}));    // a hieroglyph that 15.1 does not know
  EXPECT_EQ(pieces_of("a\u180E b"), (Pieces{"a", "\u180E", " b"}));  // no space since 6.3
  int letters = 0;
  int numbers = 0;
  for (std::uint32_t point = 0; point < 0x110000; ++point) {
    const CodePointClass type = CodePointClasses::get().of(point);
    letters += type == CodePointClass::letter ? 1 : 0;
    numbers += type == CodePointClass::number ? 1 : 0;
  }
  EXPECT_EQ(letters, 141028);
  EXPECT_EQ(numbers, 1911);
}

TEST(Llama3Split, BytesThatAreNoUtf8DoNotLeadOutsideTheText) {
  EXPECT_EQ(pieces_of("a\xE4\xB8"), (Pieces{"a", "\xE4\xB8"}));
  EXPECT_EQ(pieces_of("\xFF\xC0z"), (Pieces{"\xFF\xC0", "z"}));
}

TEST(Llama3Split, CutsBehindALineAndBeforeWhatIsNoSpace) {
  const Llama3Split split;
  EXPECT_EQ(split.last_cut("ab\ncd\n"), 3u);
  EXPECT_EQ(split.last_cut("ab\ncd\n ef"), 3u);
  EXPECT_EQ(split.last_cut("ab\r\n\u4E2D"), 4u);
  EXPECT_EQ(split.last_cut("ab\n\xE4\xB8"), 0u);  // its third byte is to come
  EXPECT_EQ(split.last_cut("ab\n\u3000"), 0u);
  EXPECT_EQ(split.last_cut("ab cd"), 0u);
  EXPECT_EQ(split.last_cut(""), 0u);
}

TEST(Llama3Split, PiecesOfTheTwoPartsAreThoseOfTheWhole) {
  const Pieces parts = {"a",  "Z", "'", "s",      "\n",     "\r",     " ",
                        "\t", "7", ".", "\u00A0", "\u4E2D", "\u0301", "\U0001F600"};
  std::mt19937 random(7);
  int cuts = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (int n = static_cast<int>(random() % 30); n > 0; --n) text += parts[random() % parts.size()];
    const std::size_t cut = Llama3Split{}.last_cut(text);
    if (cut == 0) continue;
    ++cuts;
    Pieces both = pieces_of(text.substr(0, cut));
    for (const std::string& piece : pieces_of(text.substr(cut))) both.push_back(piece);
    ASSERT_EQ(both, pieces_of(text)) << text;
  }
  EXPECT_GT(cuts, 5000);
}

}  // namespace
}  // namespace octet
