#include <fstream>
#include <nlohmann/json.hpp>

#include "src/tokenizer/json/load_json.h"
#include "tests/tokenizer/tokenizer_support.h"

namespace octet {
namespace {

using Json = nlohmann::json;
using test::golden_file;
using test::Ids;

Json golden_json(const char* name) {
  return Json::parse(test::read_bytes(golden_file(name)));
}

// tests/tokenizer/golden/make_pre_tokenizers.py wrote what Hugging Face's tokenizers give.
TEST(PreTokenizers, IdsAreThoseOfHuggingFace) {
  Json file = golden_json("bpe-512.json");
  std::vector<Json> lines;
  std::ifstream golden(golden_file("pre_tokenizers.jsonl"));
  for (std::string line; std::getline(golden, line);) lines.push_back(Json::parse(line));
  EXPECT_GT(lines.size(), 70u);
  const Json sections = golden_json("pre_tokenizers.json");
  EXPECT_GT(sections.size(), 12u);
  for (const auto& [name, section] : sections.items()) {
    file["pre_tokenizer"] = section;
    const auto tokenizer = load_tokenizer_json(file.dump(), name, {});
    EXPECT_EQ(tokenizer->last_cut("a\nb\nc"), 0u) << name;
    const auto encoder = tokenizer->make_encoder();
    for (const Json& line : lines) {
      const std::string text = line["text"];
      Ids ids;
      encoder->encode(text, ids);
      ASSERT_EQ(ids, line[name].get<Ids>()) << name << ": " << line["text"];
      if (name == "matches") continue;
      ASSERT_EQ(tokenizer->decode(ids), text);
    }
  }
}

std::unique_ptr<Tokenizer> with_steps(const std::vector<Json>& steps) {
  Json file = golden_json("bpe-512.json");
  file["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", steps}};
  return load_tokenizer_json(file.dump(), "t.json", {});
}

const Json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};

Json split(const Json& pattern, const char* behavior = "Isolated", bool invert = false) {
  return {{"type", "Split"}, {"pattern", pattern}, {"behavior", behavior}, {"invert", invert}};
}

TEST(PreTokenizers, WhatIsNotDoneIsNamed) {
  const auto error = [](const std::vector<Json>& steps) { return test::error_of([&] { with_steps(steps); }); };
  EXPECT_HAS(error({split({{"Regex", "\\h+"}}), bytes}),
             R"(pattern.Regex is "\\h+"; expected a pattern that Octet supports: \h at its byte 1)");
  EXPECT_HAS(error({split({{"Regex", "(?<=a+)b"}}), bytes}),
             "lookbehind assertion is not ");  // fixed in length: PCRE2's words differ
  EXPECT_HAS(error({split({{"Regex", "a"}}, "Removed"), bytes}), "invert is false; expected true with Removed");
  EXPECT_HAS(error({split({{"String", ""}}), bytes}), R"(pattern.String is ""; expected a text that is not empty)");
  EXPECT_HAS(error({bytes, split({{"Regex", "a"}})}), "expected ByteLevel, or a Sequence that ends with it");
  EXPECT_HAS(error({bytes, bytes}), R"(pretokenizers[0].type is "ByteLevel"; expected Split or Digits)");
}

TEST(PreTokenizers, SequencesStandWithinEachOtherAndNormalizersMayBeNone) {
  const Json inner = {{"type", "Sequence"}, {"pretokenizers", {split({{"String", ".."}}), bytes}}};
  EXPECT_EQ(with_steps({inner})->decode(test::ids_of(*with_steps({inner}), "a..b")), "a..b");
  Json file = golden_json("bpe-512.json");
  file["normalizer"] = {{"type", "Sequence"}, {"normalizers", Json::array()}};
  EXPECT_EQ(load_tokenizer_json(file.dump(), "t.json", {})->info().vocab_size, 512);
}

}  // namespace
}  // namespace octet
