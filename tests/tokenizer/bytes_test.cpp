#include <gtest/gtest.h>

#include "src/tokenizer/make_tokenizer.h"
#include "tests/data/support.h"

namespace octet {
namespace {

TEST(BytesTokenizer, BytesAreTheirOwnIdsAndADocumentEndsWithZero) {
  const auto tokenizer = make_tokenizer("bytes");
  EXPECT_EQ(tokenizer->info().kind, "bytes");
  EXPECT_EQ(tokenizer->info().vocab_size, 256);
  EXPECT_EQ(tokenizer->info().eos, 0);
  EXPECT_EQ(tokenizer->info().bos, std::nullopt);
  EXPECT_EQ(tokenizer->last_cut("abc"), 3u);
  std::vector<std::int32_t> ids;
  const auto encoder = tokenizer->make_encoder();
  encoder->encode("a\xC3\xA9", ids);
  encoder->encode("\xFF", ids);
  EXPECT_EQ(ids, (std::vector<std::int32_t>{'a', 0xC3, 0xA9, 255}));
  EXPECT_EQ(tokenizer->decode(ids), "a\xC3\xA9\xFF");
  EXPECT_HAS(test::error_of([&] { (void)tokenizer->decode(std::vector<std::int32_t>{256}); }), "256 is no byte");
}

TEST(BytesTokenizer, RefusesNul) {
  using namespace std::string_view_literals;
  const auto tokenizer = make_tokenizer("bytes");
  EXPECT_EQ(tokenizer->find_refused("\1\2\0\3\0"sv), 2u);
  EXPECT_EQ(tokenizer->find_refused("\1\xFF"), std::nullopt);
  EXPECT_EQ(tokenizer->find_refused({}), std::nullopt);
}

TEST(Tokenizer, AnUnknownNameIsAnErrorThatListsTheKnown) {
  EXPECT_HAS(test::error_of([] { make_tokenizer("bpe"); }), "unknown tokenizer \"bpe\"; known: bytes");
}

}  // namespace
}  // namespace octet
