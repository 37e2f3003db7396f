#include "src/data/token_type.h"

#include <gtest/gtest.h>

namespace octet {
namespace {

TEST(TokenType, IsTheNarrowestThatHoldsTheVocabulary) {
  EXPECT_EQ(token_type_for(256), TokenType::u8);
  EXPECT_EQ(token_type_for(257), TokenType::u16);
  EXPECT_EQ(token_type_for(65536), TokenType::u16);
  EXPECT_EQ(token_type_for(65537), TokenType::i32);
}

}  // namespace
}  // namespace octet
