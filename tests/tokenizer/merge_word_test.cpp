#include "src/tokenizer/bpe/merge_word.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/tokenizer/tokenizer_support.h"

namespace octet {
namespace {

using test::Ids;

BpeModel bytes_alone() {
  BpeModel model;
  for (int byte = 0; byte < 256; ++byte) {
    model.tokens.add(byte, std::string(1, static_cast<char>(byte)));
    model.byte_ids[static_cast<std::size_t>(byte)] = byte;
  }
  return model;
}

/// Adds a merge of two tokens with the next rank and id.
void merge(BpeModel& model, const std::string& left, const std::string& right) {
  const std::int32_t id = model.tokens.size();
  ASSERT_TRUE(model.tokens.add(id, left + right));
  ASSERT_TRUE(
      model.merges.add(*model.tokens.find(left), *model.tokens.find(right), static_cast<std::uint32_t>(id), id));
}

std::string merged(const BpeModel& model, const std::string& word) {
  Ids ids;
  WordMerger(model).merge(word, ids);
  std::string text;
  for (const std::int32_t id : ids) text += (text.empty() ? "" : "|") + std::string(model.tokens.bytes(id));
  return text;
}

/// The rule as it is stated.
Ids merged_plainly(const BpeModel& model, std::string_view word) {
  Ids ids;
  for (const char byte : word) ids.push_back(model.byte_ids[static_cast<std::uint8_t>(byte)]);
  while (true) {
    Merge best = no_merge;
    std::size_t place = 0;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      const Merge merge = model.merges.find(ids[i], ids[i + 1]);
      if (merge < best) {
        best = merge;
        place = i;
      }
    }
    if (best == no_merge) return ids;
    ids[place] = result_of(best);
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
}

TEST(WordMerger, LeastRankFirstThenLeftmost) {
  BpeModel model = bytes_alone();
  merge(model, "b", "c");
  merge(model, "a", "b");
  merge(model, "a", "a");
  merge(model, "ab", "bc");
  EXPECT_EQ(merged(model, "abc"), "a|bc");
  EXPECT_EQ(merged(model, "aaa"), "aa|a");
  EXPECT_EQ(merged(model, "abbc"), "abbc");
  EXPECT_EQ(merged(model, "xyz"), "x|y|z");
  EXPECT_EQ(merged(model, "b"), "b");
}

TEST(WordMerger, ShortAndLongWordsFollowTheSameRule) {
  std::mt19937 random(11);
  for (int round = 0; round < 20; ++round) {
    BpeModel model = bytes_alone();
    std::vector<std::string> tokens = {"a", "b", "c"};
    for (int i = 0; i < 40; ++i) {
      const std::string left = tokens[random() % tokens.size()];
      const std::string right = tokens[random() % tokens.size()];
      if (model.tokens.find(left + right)) continue;
      merge(model, left, right);
      tokens.push_back(left + right);
    }
    WordMerger merger(model);
    for (const std::size_t size : {2, 3, 17, 63, 64, 65, 66, 200, 1000}) {
      std::string word;
      while (word.size() < size) word += static_cast<char>('a' + random() % (round % 3 + 1));
      Ids ids;
      merger.merge(word, ids);
      ASSERT_EQ(ids, merged_plainly(model, word)) << word;
    }
  }
}

TEST(WordMerger, AWordOfAMegabyteIsMergedToItsEnd) {
  BpeModel model = bytes_alone();
  std::string token = "a";
  for (int i = 0; i < 8; ++i) {
    merge(model, token, token);
    token += token;
  }
  Ids ids;
  WordMerger(model).merge(std::string(1 << 20, 'a'), ids);
  EXPECT_EQ(ids, Ids(4096, *model.tokens.find(std::string(256, 'a'))));
}

}  // namespace
}  // namespace octet
