// A run goes on with the ends of documents that its tokenizer had when it began.
#include "src/tokenizer/recorded_tokens.h"

#include <gtest/gtest.h>

namespace octet {
namespace {

using Id = std::optional<std::int32_t>;

/// The ends of a tokenizer of three ids with 0 and 1 of its own, where a run recorded these of the file `fingerprint`.
std::pair<Id, Id> ends_with(std::uint64_t fingerprint, Id bos, Id eos) {
  TokenizerOptions options;
  options.recorded = RecordedTokens{.fingerprint = fingerprint};
  options.recorded->bos = bos;
  options.recorded->eos = eos;
  TokenizerInfo info{.kind = "bpe", .path = "", .vocab_size = 3, .bos = 0, .eos = 1};
  info.fingerprint = 7;
  take_recorded_ends(options, info);
  return {info.bos, info.eos};
}

TEST(RecordedTokens, AreThoseOfTheirFileAndItsVocabulary) {
  EXPECT_EQ(ends_with(7, 1, 2), std::pair(Id(1), Id(2)));
  EXPECT_EQ(ends_with(7, std::nullopt, 2), std::pair(Id(0), Id(2)));
  EXPECT_EQ(ends_with(8, 1, 2), std::pair(Id(0), Id(1))) << "of another file";
  EXPECT_EQ(ends_with(7, -1, 3), std::pair(Id(0), Id(1))) << "ids that it lacks";
}

}  // namespace
}  // namespace octet
