#include "src/tokenizer/training/tokenizer_file.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "src/tokenizer/training/word_counter.h"

namespace octet {
namespace {

TEST(WordCounter, CountsThePiecesOfThePattern) {
  WordCounter one, other;
  one.add("the cat, the cat");
  other.add(" the\n");
  one.merge(other);
  const std::vector<WordCount> counts = one.counts();
  std::vector<std::pair<std::string, std::int64_t>> found;
  for (const WordCount& c : counts) found.emplace_back(c.word, c.count);
  EXPECT_EQ(found, (std::vector<std::pair<std::string, std::int64_t>>{
                       {"\n", 1}, {" cat", 2}, {" the", 2}, {",", 1}, {"the", 1}}));
  EXPECT_EQ(one.pieces(), 7);
  EXPECT_EQ(one.bytes(), 21);
}

TEST(TokenizerFile, HasEveryTokenInTheByteAlphabetAndTheMergesInOrder) {
  const TrainedBpe trained =
      train_bpe({{" a\n", 3}, {" a", 1}}, {.vocab_size = 300, .special = {"<|begin|>", "<|end|>"}});
  const auto file = nlohmann::json::parse(tokenizer_json(trained, "<|begin|>"));
  const auto& vocab = file["model"]["vocab"];
  EXPECT_EQ(vocab.size(), 2u + 256 + 2);
  EXPECT_EQ(vocab["<|end|>"], 1);
  EXPECT_EQ(vocab["!"], 2);
  EXPECT_EQ(vocab["\u0120a"], 258);
  EXPECT_EQ(vocab["\u0120a\u010A"], 259);
  EXPECT_EQ(file["model"]["merges"], nlohmann::json::parse("[[\"\u0120\", \"a\"], [\"\u0120a\", \"\u010A\"]]"));
  EXPECT_EQ(file["added_tokens"][1]["content"], "<|end|>");
  EXPECT_EQ(file["post_processor"]["special_tokens"]["<|begin|>"]["ids"][0], 0);
  EXPECT_TRUE(nlohmann::json::parse(tokenizer_json(trained, {}))["post_processor"].is_null());
}

}  // namespace
}  // namespace octet
