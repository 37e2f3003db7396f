#include "src/data/data_identity.h"

#include "tests/data/support.h"
#include "tests/support/bytes_identity.h"

namespace octet {
namespace {

using test::error_of;
using test::TempFolder;
using test::write_tokens;

class Identity : public testing::Test {
 protected:
  Identity() {
    for (const char* name : {"a", "b"}) {
      write_tokens(folder_ / name, 100, TokenType::u16, [](std::int64_t i) { return i; });
      files_.emplace_back(folder_ / name);
    }
  }
  static TokenizerIdentity bpe(std::uint64_t fingerprint) {
    return {.kind = TokenizerKind::bpe, .file = "t.json", .fingerprint = fingerprint, .vocab_size = 300};
  }
  TempFolder folder_;
  std::vector<TokenFile> files_;
};

using Facts = std::vector<std::optional<DataFacts>>;

TEST_F(Identity, IsTheTokenizerOfAllThatSayOne) {
  const Facts facts = {DataFacts{.tokenizer = bpe(1), .text_bytes = 450}, std::nullopt};
  const DataIdentity identity = identify(files_, facts, 300);
  EXPECT_EQ(identity.tokenizer, bpe(1));
  EXPECT_EQ(identity.unknown, std::vector{folder_ / "b.bin"});
  EXPECT_EQ(identity.bytes_per_token, (std::vector{4.5, 0.0}));
  EXPECT_HAS(unknown_tokenizer_text(identity), "b.bin: no .data.json beside the files says which tokenizer made them");
  const DataIdentity known = identify(files_, Facts{facts[0], facts[0]}, 300);
  EXPECT_EQ(unknown_tokenizer_text(known), "");
  EXPECT_FALSE(identify(files_, Facts(2), 1).tokenizer);
}

TEST_F(Identity, TwoTokenizersAreRefusedAndOneThatIsTooLarge) {
  const DataFacts one{.tokenizer = bpe(1)}, other{.tokenizer = bpe(2)},
      bytes{.tokenizer = test::bytes_tokenizer_identity()};
  const std::string two = error_of([&] { identify(files_, Facts{one, other}, 300); });
  EXPECT_HAS(two, "a.bin was made with the tokenizer bpe t.json (0000000000000001, 300 ids), and ");
  EXPECT_HAS(two, "b.bin with bpe t.json (0000000000000002, 300 ids); a run reads data of one tokenizer");
  EXPECT_HAS(error_of([&] { identify(files_, Facts{one, bytes}, 300); }), "b.bin with bytes (256 ids)");
  EXPECT_HAS(error_of([&] {
               identify(files_, Facts{one, one}, 299);
             }),
             "and the model's vocab_size is 299; expected a model of 300 ids at least");
  EXPECT_NO_THROW(identify(files_, Facts{bytes, bytes}, 128)) << "of bytes the ids that are there count";
}

TEST_F(Identity, SourcesWhoseDocumentsEndWithTwoTokensAreRefused) {
  TokenizerIdentity end = bpe(1), pad = bpe(1), neither = bpe(1);
  end.eos = 2;
  pad.eos = 0;
  end.special = pad.special = {{"<pad>", 0}, {"</s>", 2}};
  const DataFacts one{.tokenizer = end}, other{.tokenizer = pad}, silent{.tokenizer = neither};
  const std::string two = error_of([&] { identify(files_, Facts{one, other}, 300); });
  EXPECT_HAS(two, "the documents of " + (folder_ / "a.bin") + " end with </s> (id 2), those of " + (folder_ / "b.bin") +
                      " with <pad> (id 0); a run reads data of one end");
  EXPECT_EQ(identify(files_, Facts{one, one}, 300).tokenizer, end);
  // One that says no end goes with any, and the run remembers the end that is known.
  EXPECT_EQ(identify(files_, Facts{silent, one}, 300).tokenizer, end);
  EXPECT_EQ(identify(files_, Facts{one, silent}, 300).tokenizer, end);
}

TEST_F(Identity, SourcesWhoseDocumentsHaveATokenAtAnEndOrNoneAreRefused) {
  TokenizerIdentity tokenizer = bpe(1);
  tokenizer.bos = 1;
  tokenizer.eos = 2;
  tokenizer.special = {{"<s>", 1}, {"</s>", 2}};
  const auto with = [&](bool bos, bool eos) {
    return DataFacts{.tokenizer = tokenizer, .origin = DataOrigin{.bos = bos, .eos = eos}};
  };
  const DataFacts old{.tokenizer = tokenizer};
  EXPECT_HAS(error_of([&] {
               identify(files_, Facts{with(false, true), with(false, false)}, 300);
             }),
             "the documents of " + (folder_ / "a.bin") + " end with </s> (id 2), those of " + (folder_ / "b.bin") +
                 " with no token; a run reads documents of one form");
  EXPECT_HAS(error_of([&] {
               identify(files_, Facts{with(false, true), with(true, true)}, 300);
             }),
             " begin with no token, those of " + (folder_ / "b.bin") + " with <s> (id 1)");
  EXPECT_NO_THROW(identify(files_, Facts{with(true, false), with(true, false)}, 300));
  EXPECT_NO_THROW(identify(files_, Facts{old, with(true, false)}, 300)) << "an older version did not say it";
  EXPECT_EQ(identify(files_, Facts{with(false, false), old}, 300).tokenizer, tokenizer);
}

TEST(ValidationBytesPerToken, AreTheMeanOverTheWindowsThatAreRead) {
  const DataStage even{1, {1, 1}};
  const SampleOrder order({{"a", 300}, {"b", 100}}, SourceTurns(2, std::span(&even, 1), 1), 0.1, 1);
  ASSERT_EQ(order.validation_samples(), 40);
  EXPECT_DOUBLE_EQ(*validation_bytes_per_token(order, 1000, std::vector{4.0, 2.0}), 3.5);
  double sum = 0;
  for (std::int64_t v = 0; v < 7; ++v) sum += order.validation_sample(v).source == 0 ? 4 : 2;
  EXPECT_DOUBLE_EQ(*validation_bytes_per_token(order, 7, std::vector{4.0, 2.0}), sum / 7);
  EXPECT_FALSE(validation_bytes_per_token(order, 40, std::vector{4.0, 0.0}));
}

}  // namespace
}  // namespace octet
