#include "src/data/tokenizer.h"

#include "src/data/token_type.h"
#include "tests/data/support.h"

namespace octet {
namespace {

TEST(Tokenizer, BytesAreTheirOwnIdsAndADocumentEndsWithZero) {
  const auto tokenizer = make_tokenizer("bytes");
  EXPECT_EQ(tokenizer->name(), "bytes");
  EXPECT_EQ(tokenizer->vocab_size(), 256);
  EXPECT_EQ(tokenizer->end_of_document(), 0);
  std::vector<std::int32_t> ids;
  tokenizer->encode(std::vector<std::uint8_t>{'a', 0xC3, 0xA9}, ids);
  tokenizer->encode(std::vector<std::uint8_t>{255}, ids);
  tokenizer->finish(ids);
  EXPECT_EQ(ids, (std::vector<std::int32_t>{'a', 0xC3, 0xA9, 255, 0}));
}

TEST(Tokenizer, BytesRefuseNul) {
  const auto tokenizer = make_tokenizer("bytes");
  EXPECT_EQ(tokenizer->find_refused(std::vector<std::uint8_t>{1, 2, 0, 3, 0}), 2u);
  EXPECT_EQ(tokenizer->find_refused(std::vector<std::uint8_t>{1, 255}), std::nullopt);
  EXPECT_EQ(tokenizer->find_refused({}), std::nullopt);
}

TEST(Tokenizer, AnUnknownNameIsAnErrorThatListsTheKnown) {
  EXPECT_HAS(test::error_of([] { make_tokenizer("bpe"); }), "unknown tokenizer \"bpe\"; known: bytes");
}

TEST(TokenType, IsTheNarrowestThatHoldsTheVocabulary) {
  EXPECT_EQ(token_type_for(256), TokenType::u8);
  EXPECT_EQ(token_type_for(257), TokenType::u16);
  EXPECT_EQ(token_type_for(65536), TokenType::u16);
  EXPECT_EQ(token_type_for(65537), TokenType::i32);
}

}  // namespace
}  // namespace octet
