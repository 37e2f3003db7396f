// A tokenizer that is opened again is the one that made the data, whatever its file says of the ends of documents.
#include "src/corpus/recorded_tokenizer.h"

#include <array>

#include "src/base/error.h"
#include "src/corpus/outputs.h"
#include "tests/corpus/corpus_test.h"

namespace octet {
namespace {

using test::error_of;

const std::string golden = std::string(OCTET_SOURCE_DIR) + "/tests/tokenizer/golden/";

/// What data keep of a tokenizer whose ends of documents the user names.
TokenizerIdentity recorded(const std::string& file, const TokenizerOptions& options) {
  return identity_of(make_tokenizer(golden + file, options)->info());
}

TEST(RecordedTokenizer, HasTheTokensThatItsRankFileDoesNotName) {
  const TokenizerIdentity identity = recorded("ranks-512.tiktoken", {.bos = "<s>", .eos = "</s>"});
  EXPECT_EQ(identity.vocab_size, 511);
  const auto again = make_recorded_tokenizer(golden + "ranks-512.tiktoken", identity);
  EXPECT_EQ(identity_of(again->info()), identity);
  EXPECT_EQ(again->info().eos, 510);
  EXPECT_EQ(again->decode(std::array{509, 510}), "<s></s>");
  const auto control = make_recorded_tokenizer(golden + "ranks-512.tiktoken", identity, true);
  std::vector<std::int32_t> ids;
  control->make_encoder()->encode("</s>", ids);
  EXPECT_EQ(ids, std::vector<std::int32_t>{510});
  EXPECT_EQ(make_recorded_tokenizer(golden + "ranks-512.tiktoken", {})->info().eos, std::nullopt);
}

TEST(RecordedTokenizer, EndsDocumentsWithTheTokenThatWasNamedAlsoWhereItIsNoSpecialOne) {
  const TokenizerIdentity identity = recorded("bpe-512.json", {.eos = "!"});
  ASSERT_NE(identity.eos, make_tokenizer(golden + "bpe-512.json")->info().eos);
  const auto again = make_recorded_tokenizer(golden + "bpe-512.json", identity);
  EXPECT_EQ(identity_of(again->info()), identity);
  EXPECT_EQ(again->decode(std::array{*again->info().eos}), "!");
}

TEST(RecordedTokenizer, OfSentencePieceIsTheSame) {
  const TokenizerIdentity identity = recorded("spm-unigram.model", {.bos = "<ctl>"});
  ASSERT_NE(identity.bos, make_tokenizer(golden + "spm-unigram.model")->info().bos);
  const auto again = make_recorded_tokenizer(golden + "spm-unigram.model", identity);
  EXPECT_EQ(identity_of(again->info()), identity);
  EXPECT_TRUE(again->info().adds_bos);
}

TEST(RecordedTokenizer, OfAnotherFileTakesNothing) {
  TokenizerIdentity identity = recorded("ranks-512.tiktoken", {.eos = "</s>"});
  identity.fingerprint ^= 1;
  EXPECT_EQ(make_recorded_tokenizer(golden + "ranks-512.tiktoken", identity)->info().vocab_size, 509);
  EXPECT_NE(make_recorded_tokenizer(golden + "bpe-512.json", identity)->info().eos, 509);
  EXPECT_EQ(make_recorded_tokenizer("bytes", identity)->info().eos, 0);
}

/// A side file is only a file: ids beyond the vocabulary are not made.
TEST(RecordedTokenizer, IdsThatTheVocabularyLacksAreLeftOut) {
  TokenizerIdentity identity = recorded("ranks-512.tiktoken", {});
  identity.special["far"] = 1 << 30;
  identity.eos = 1 << 30;
  const auto again = make_recorded_tokenizer(golden + "ranks-512.tiktoken", identity);
  EXPECT_EQ(again->info().vocab_size, 509);
  EXPECT_EQ(again->info().eos, std::nullopt);
}

}  // namespace
}  // namespace octet
