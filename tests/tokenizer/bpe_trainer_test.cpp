#include "src/tokenizer/training/bpe_trainer.h"

#include <gtest/gtest.h>

#include "src/base/error.h"

namespace octet {
namespace {

TEST(BpeTrainer, MergesTheMostFrequentPairAndOfEqualsTheSmallerIds) {
  // By hand: "ab" 5 times, then "abc" and "abd" 2 times each, of which c comes first.
  const TrainedBpe trained = train_bpe({{"abc", 2}, {"abd", 2}, {"ab", 1}}, {.vocab_size = 260});
  ASSERT_EQ(trained.tokens.size(), 259u);  // no pair is left
  EXPECT_EQ(trained.tokens[256], "ab");
  EXPECT_EQ(trained.tokens[257], "abc");
  EXPECT_EQ(trained.tokens[258], "abd");
  const auto id = [](char c) { return c - '!'; };
  EXPECT_EQ(trained.merges,
            (std::vector<std::pair<std::int32_t, std::int32_t>>{{id('a'), id('b')}, {256, id('c')}, {256, id('d')}}));
}

TEST(BpeTrainer, RepeatedLettersMergeFromTheLeft) {
  // aa aa a: now "aa a" and "aa aa" are equally frequent.
  const TrainedBpe trained = train_bpe({{"aaaaa", 3}}, {.vocab_size = 300});
  ASSERT_EQ(trained.tokens.size(), 259u);
  EXPECT_EQ(trained.tokens[256], "aa");
  EXPECT_EQ(trained.tokens[257], "aaa");
  EXPECT_EQ(trained.tokens[258], "aaaaa");
}

TEST(BpeTrainer, SpecialTokensComeFirst) {
  const TrainedBpe trained = train_bpe({{"ab", 1}}, {.vocab_size = 259, .special = {"<|begin|>", "<|end|>"}});
  EXPECT_EQ(trained.special, 2);
  EXPECT_EQ(trained.tokens[1], "<|end|>");
  EXPECT_EQ(trained.tokens[2], "!");
  EXPECT_EQ(trained.tokens[258], "ab");
}

TEST(BpeTrainer, NoMergeSpellsASpecialToken) {
  const TrainedBpe trained = train_bpe({{"<a>", 9}, {"b", 1}}, {.vocab_size = 300, .special = {"<a>"}});
  ASSERT_EQ(trained.tokens.size(), 258u);
  EXPECT_EQ(trained.tokens[257], "<a");
}

TEST(BpeTrainer, RarePairsAreLeft) {
  EXPECT_EQ(train_bpe({{"ab", 2}, {"cd", 1}}, {.vocab_size = 300, .min_frequency = 2}).merges.size(), 1u);
}

TEST(BpeTrainer, RefusesWhatNoVocabularyCanBe) {
  EXPECT_THROW(train_bpe({{"ab", 1}}, {.vocab_size = 255}), Error);
  EXPECT_THROW(train_bpe({{"ab", 1}}, {.vocab_size = 300, .special = {"<a>", "<a>"}}), Error);
  EXPECT_THROW(train_bpe({{"ab", 1}}, {.vocab_size = 300, .special = {""}}), Error);
}

}  // namespace
}  // namespace octet
