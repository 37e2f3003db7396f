#include "src/tokenizer/byte_alphabet.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace octet {
namespace {

TEST(ByteAlphabet, SpellsEveryByteAndReadsItBack) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(bytes_spelled(spell_bytes(all)), all);
  EXPECT_EQ(spell_bytes("a b\n\xC3\xA9"), "a\u0120b\u010A\u00C3\u00A9");  // as in GPT-2's vocabulary
  EXPECT_EQ(spell_bytes(std::string(1, '\0') + "\xAD"), "\u0100\u0143");
}

TEST(ByteAlphabet, OtherCharactersAreNone) {
  for (const char* text : {" ", "\n", "\u0144", "\u00AD", "\u4E00", "\xC3", "\xC0\x80", "\xFF"}) {
    EXPECT_EQ(bytes_spelled(text), std::nullopt) << text;
  }
  EXPECT_EQ(bytes_spelled(""), "");
}

TEST(ByteAlphabet, BytesAreInTheOrderOfTheirCharacters) {
  const auto& bytes = bytes_by_code_point();
  EXPECT_EQ(bytes[0], '!');
  EXPECT_EQ(bytes[188], 0);
  EXPECT_EQ(bytes[255], 0xAD);
  auto sorted = bytes;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < 256; ++i) EXPECT_EQ(sorted[i], i);
}

}  // namespace
}  // namespace octet
