#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "src/tokenizer/sentencepiece/load_sentencepiece.h"
#include "src/tokenizer/sentencepiece/model_facts.h"
#include "tests/tokenizer/tokenizer_support.h"

namespace octet {
namespace {

using nlohmann::json;
using test::golden_file;
using test::Ids;

std::vector<json> golden_lines() {
  std::vector<json> lines;
  std::ifstream file(golden_file("sentencepiece.jsonl"));
  for (std::string line; std::getline(file, line);) lines.push_back(json::parse(line));
  return lines;
}

// tests/tokenizer/golden/make_sentencepiece.py wrote what SentencePiece's Python package gives.
TEST(SentencePiece, IdsAndTextsAreThoseOfItsPackage) {
  const std::vector<json> lines = golden_lines();
  EXPECT_GT(lines.size(), 130u);
  for (const std::string kind : {"bpe", "unigram"}) {
    const auto tokenizer = make_tokenizer(golden_file("spm-" + kind + ".model"));
    const auto encoder = tokenizer->make_encoder();
    for (const json& line : lines) {
      Ids ids;
      encoder->encode(line["text"].get<std::string>(), ids);
      ASSERT_EQ(ids, line[kind].get<Ids>()) << kind << ": " << line["text"];
      ASSERT_EQ(tokenizer->decode(ids), line[kind + "-text"].get<std::string>()) << kind << ": " << line["text"];
    }
  }
}

TEST(SentencePiece, KnowsWhatItsFileSays) {
  const auto bpe = make_tokenizer(golden_file("spm-bpe.model"));
  EXPECT_EQ(bpe->info().kind, "sentencepiece");
  EXPECT_EQ(bpe->info().vocab_size, 700);
  EXPECT_EQ(bpe->info().bos, 1);
  EXPECT_EQ(bpe->info().eos, 2);
  ASSERT_EQ(bpe->info().special.size(), 3u);
  EXPECT_EQ(bpe->info().special[0].text, "<unk>");
  EXPECT_TRUE(bpe->needs_utf8());
  EXPECT_EQ(bpe->last_cut("a\nb"), 0u);
  const auto unigram = make_tokenizer(golden_file("spm-unigram.model"), {.bos = "<ctl>"});
  EXPECT_EQ(unigram->info().bos, 3);
  EXPECT_EQ(unigram->info().eos, 1);
  EXPECT_EQ(make_tokenizer(golden_file("spm-unigram.model"))->info().bos, std::nullopt);
  EXPECT_NE(bpe->info().fingerprint, unigram->info().fingerprint);
}

// As transformers does where there is no tokenizer.json.
TEST(SentencePiece, AConfigBesideItSaysWhatStandsAroundTexts) {
  const test::TempFolder folder;
  test::write_bytes(folder / "tokenizer.model", test::read_bytes(golden_file("spm-bpe.model")));
  const auto with = [&](const std::string& config) {
    test::write_bytes(folder / "tokenizer_config.json", config);
    return make_tokenizer(folder.path())->info();
  };
  EXPECT_TRUE(make_tokenizer(folder.path())->info().adds_bos);
  EXPECT_TRUE(with("{}").adds_bos);
  EXPECT_FALSE(with("{}").adds_eos);
  EXPECT_FALSE(with(R"({"add_bos_token": false})").adds_bos);
  EXPECT_TRUE(with(R"({"add_bos_token": true, "add_eos_token": true})").adds_eos);
  EXPECT_THROW(with(R"({"add_bos_token": "yes"})"), Error);
}

TEST(SentencePiece, ControlTokensComeAsTheirTextAndAreNeverFoundInText) {
  const auto tokenizer = make_tokenizer(golden_file("spm-bpe.model"));
  Ids ids = test::ids_of(*tokenizer, "</s>");
  EXPECT_GT(ids.size(), 1u);
  EXPECT_EQ(tokenizer->decode(ids), "</s>");
  ids.insert(ids.begin(), 1);
  ids.push_back(2);
  EXPECT_EQ(tokenizer->decode(ids), "<s></s></s>");
  EXPECT_HAS(test::error_of([] { make_tokenizer(golden_file("spm-bpe.model"), {.control_tokens = true}); }),
             "expected no --control-tokens");
}

TEST(SentencePiece, ThreadsShareATokenizer) {
  const auto tokenizer = make_tokenizer(golden_file("spm-unigram.model"));
  const std::vector<json> lines = golden_lines();
  std::vector<int> wrong(4);
  {
    std::vector<std::jthread> threads;
    threads.reserve(wrong.size());
    for (int& count : wrong) {
      threads.emplace_back([&] {
        const auto encoder = tokenizer->make_encoder();
        for (const json& line : lines) {
          Ids ids;
          encoder->encode(line["text"].get<std::string>(), ids);
          count += ids == line["unigram"].get<Ids>() ? 0 : 1;
        }
      });
    }
  }
  EXPECT_EQ(wrong, std::vector<int>(4));
}

TEST(SentencePiece, IsToldFromRankFilesByItsContent) {
  const test::TempFolder folder;
  test::write_bytes(folder / "tokenizer.model", test::read_bytes(golden_file("spm-bpe.model")));
  EXPECT_EQ(make_tokenizer(folder.path())->info().kind, "sentencepiece");
  test::write_bytes(folder / "tokenizer.model", test::read_bytes(golden_file("ranks-512.tiktoken")));
  EXPECT_EQ(make_tokenizer(folder.path())->info().kind, "tiktoken");
  EXPECT_FALSE(
      is_sentencepiece_model("\n{\n  \"version\": \"1.0\", \"truncation\": null, \"padding\": null, \"added_tokens\""
                             ": [], \"normalizer\": null, \"pre_tokenizer\": null, \"post_processor\": null}\n"));
  EXPECT_FALSE(is_sentencepiece_model(""));
}

std::string field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
std::string field(int number, int value) {
  return std::string{static_cast<char>(number << 3), static_cast<char>(value)};
}
std::string piece_field(const std::string& text, int type) {
  return field(1, field(1, text) + field(3, type));
}

TEST(SentencePiece, WhatIsDamagedOrNotDoneIsNamed) {
  const auto error = [](const std::string& bytes, const TokenizerOptions& options = {}) {
    return test::error_of([&] { load_sentencepiece(bytes, "t.model", options); });
  };
  const std::string golden = test::read_bytes(golden_file("spm-bpe.model"));
  EXPECT_HAS(error(golden.substr(0, golden.size() / 2)), "t.model: is no SentencePiece model: the file breaks off");
  EXPECT_HAS(error(piece_field("<unk>", 2) + piece_field("a", 7)), "a piece is of the type 7");
  EXPECT_HAS(error(piece_field("<unk>", 2) + piece_field("", 1)), "piece 1 is empty or has a NUL");
  EXPECT_HAS(error(piece_field("<unk>", 2) + piece_field("\xff", 3)), "piece 1 is no UTF-8");
  EXPECT_HAS(error(piece_field("<unk>", 2) + piece_field("a", 1) + piece_field("a", 3)), "piece 2 is there twice");
  EXPECT_HAS(error(piece_field("a", 1)), "0 pieces stand for what is unknown; expected one");
  EXPECT_HAS(error(piece_field("<unk>", 2) + piece_field("<0x00>", 6)), "1 pieces are bytes; expected 0");
  EXPECT_HAS(error(piece_field("<unk>", 2) + field(2, field(3, 3))), "its model_type is WORD; expected BPE or UNIGRAM");
  EXPECT_HAS(error(piece_field("<unk>", 2) + field(2, field(3, 9))), "its model_type is unknown");
  EXPECT_HAS(error(golden, {.eos = "</e>"}), "eos \"</e>\": t.model has no such token");
  EXPECT_HAS(test::error_of([&] { load_sentencepiece(golden, "t.model", {})->decode(Ids{700}); }),
             "the token id 700 is none of the vocabulary, whose largest is 699");
}

}  // namespace
}  // namespace octet
