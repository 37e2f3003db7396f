#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/tokenizer/tokenizer_support.h"

namespace octet {
namespace {

using test::golden_file;
using test::Ids;

// tests/tokenizer/golden/make.py wrote what Hugging Face's tokenizers give.
class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, IdsAreThoseOfHuggingFace) {
  const auto tokenizer = make_tokenizer(golden_file(GetParam() + ".json"));
  const auto encoder = tokenizer->make_encoder();
  std::ifstream file(golden_file("ids.jsonl"));
  int texts = 0;
  for (std::string line; std::getline(file, line); ++texts) {
    const nlohmann::json golden = nlohmann::json::parse(line);
    const std::string text = golden["text"];
    for (int again = 0; again < 2; ++again) {  // the second time from the cache
      Ids ids;
      encoder->encode(text, ids);
      ASSERT_EQ(ids, golden[GetParam()].get<Ids>()) << golden["text"];
      ASSERT_EQ(tokenizer->decode(ids), text);
    }
  }
  EXPECT_GT(texts, 300);
}

INSTANTIATE_TEST_SUITE_P(Bpe, Golden, testing::Values("bpe-512", "bpe-4096"),
                         [](const auto& test) { return test.param.substr(4); });

TEST(BpeTokenizer, KnowsWhatItsFileSays) {
  const auto tokenizer = make_tokenizer(golden_file("bpe-512.json"));
  const TokenizerInfo& info = tokenizer->info();
  EXPECT_EQ(info.kind, "bpe");
  EXPECT_EQ(info.path, golden_file("bpe-512.json"));
  EXPECT_EQ(info.vocab_size, 512);
  EXPECT_EQ(info.bos, 0);
  EXPECT_EQ(info.eos, 1);  // by its name
  ASSERT_EQ(info.special.size(), 3u);
  EXPECT_EQ(info.special[2].text, "<|pad|>");
  EXPECT_EQ(info.special[2].id, 2);
  EXPECT_TRUE(tokenizer->needs_utf8());
  EXPECT_NE(info.fingerprint, make_tokenizer(golden_file("bpe-4096.json"))->info().fingerprint);
}

TEST(BpeTokenizer, ControlTokensArePlainTextUnlessAskedFor) {
  const std::string text = "a<|end_of_text|>b<|pad|><|pa";
  const auto plain = make_tokenizer(golden_file("bpe-4096.json"));
  const auto control = make_tokenizer(golden_file("bpe-4096.json"), {.control_tokens = true});
  const Ids as_text = test::ids_of(*plain, text);
  EXPECT_EQ(std::ranges::count_if(as_text, [](std::int32_t id) { return id < 3; }), 0);
  Ids expected = test::ids_of(*plain, "a");
  expected.push_back(1);
  for (const std::int32_t id : test::ids_of(*plain, "b")) expected.push_back(id);
  expected.push_back(2);
  for (const std::int32_t id : test::ids_of(*plain, "<|pa")) expected.push_back(id);
  EXPECT_EQ(test::ids_of(*control, text), expected);
  EXPECT_EQ(plain->decode(as_text), text);
  EXPECT_EQ(control->decode(expected), text);
}

TEST(BpeTokenizer, PiecesThatEndAtACutHaveTheIdsOfTheWhole) {
  std::mt19937 random(3);
  for (const bool control_tokens : {false, true}) {
    const auto tokenizer = make_tokenizer(golden_file("bpe-4096.json"), {.control_tokens = control_tokens});
    const auto encoder = tokenizer->make_encoder();
    int cuts = 0;
    for (int i = 0; i < 5000; ++i) {
      const std::string text = test::odd_text(random, 60);
      const std::size_t cut = tokenizer->last_cut(text);
      if (cut == 0) continue;
      ++cuts;
      Ids ids;
      encoder->encode(std::string_view(text).substr(0, cut), ids);
      encoder->encode(std::string_view(text).substr(cut), ids);
      Ids whole;
      encoder->encode(text, whole);
      ASSERT_EQ(ids, whole) << text;
    }
    EXPECT_GT(cuts, 2000);
  }
}

TEST(BpeTokenizer, IdsThatAreNoneAreRefused) {
  const auto tokenizer = make_tokenizer(golden_file("bpe-512.json"));
  EXPECT_HAS(test::error_of([&] { tokenizer->decode(Ids{5, 512}); }), "the token id 512 is none of the vocabulary");
  EXPECT_HAS(test::error_of([&] { tokenizer->decode(Ids{-1}); }), "whose largest is 511");
}

}  // namespace
}  // namespace octet
