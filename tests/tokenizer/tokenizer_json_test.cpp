#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "src/tokenizer/json/load_json.h"
#include "tests/support/git_lfs_pointer.h"
#include "tests/tokenizer/tokenizer_support.h"

namespace octet {
namespace {

using Json = nlohmann::json;
using test::Ids;

std::unique_ptr<Tokenizer> load(const Json& json, const TokenizerOptions& options = {}) {
  return load_tokenizer_json(json.dump(), "t.json", options);
}

/// The golden vocabulary of 512 entries, changed.
Json changed(const std::function<void(Json&)>& change) {
  static const Json golden = Json::parse(test::read_bytes(test::golden_file("bpe-512.json")));
  Json json = golden;
  change(json);
  return json;
}

struct Refused {
  const char* name;
  std::function<void(Json&)> change;
  std::string message;
};

class Refusal : public testing::TestWithParam<Refused> {};

TEST_P(Refusal, NamesFileKeyValueAndWhatWasExpected) {
  const std::string message = test::error_of([] { load(changed(GetParam().change)); });
  EXPECT_HAS(message, "[tokenizer] t.json: ");
  EXPECT_HAS(message, GetParam().message);
}

const Refused refusals[] = {
    {"Truncation",
     [](Json& j) {
       j["truncation"] = {{"max_length", 7}};
     },
     R"(truncation is {"max_length":7}; expected null, to which you can set it)"},
    {"Padding",
     [](Json& j) {
       j["padding"] = {{"pad_id", 7}};
     },
     R"(padding is {"pad_id":7}; expected null, to which you can set it)"},
    {"Normalizer",
     [](Json& j) {
       j["normalizer"] = {{"type", "NFC"}};
     },
     R"(normalizer is {"type":"NFC"}; expected null)"},
    {"Decoder",
     [](Json& j) {
       j["decoder"] = {{"type", "Fuse"}};
     },
     R"(decoder.type is "Fuse"; expected ByteLevel)"},
    {"NoModel", [](Json& j) { j.erase("model"); }, "model is missing; expected an object"},
    {"Tekken",
     [](Json& j) {
       j = {{"config", {{"version", "v3"}}}, {"vocab", Json::array()}, {"special_tokens", Json::array()}};
     },
     "model is missing; expected an object: this is a tekken.json of Mistral, not a tokenizer.json"},
    {"NeitherTypeNorMerges",
     [](Json& j) {
       j["model"].erase("type");
       j["model"].erase("merges");
     },
     "model.type is missing; expected BPE"},
    {"OtherModel", [](Json& j) { j["model"]["type"] = "Unigram"; }, R"(model.type is "Unigram"; expected BPE)"},
    {"Dropout", [](Json& j) { j["model"]["dropout"] = 0.1; }, "model.dropout is 0.1; expected null or 0"},
    {"Unknown", [](Json& j) { j["model"]["unk_token"] = "<unk>"; }, R"(model.unk_token is "<unk>"; expected null)"},
    {"Prefix", [](Json& j) { j["model"]["continuing_subword_prefix"] = "##"; },
     R"(model.continuing_subword_prefix is "##"; expected null)"},
    {"Suffix", [](Json& j) { j["model"]["end_of_word_suffix"] = "</w>"; },
     R"(model.end_of_word_suffix is "</w>"; expected null)"},
    {"FuseUnknown", [](Json& j) { j["model"]["fuse_unk"] = true; }, "model.fuse_unk is true; expected false"},
    {"ByteFallback", [](Json& j) { j["model"]["byte_fallback"] = true; },
     "model.byte_fallback is true; expected false"},
    {"ByteWithoutToken", [](Json& j) { j["model"]["vocab"].erase("a"); },
     "model.vocab.a is missing; expected an id, as this is the byte 61, which text may have"},
    {"ByteOfTagsWithoutToken", [](Json& j) { j["model"]["vocab"].erase("\u00F3"); },
     "missing; expected an id, as this is the byte F3, which text may have"},
    {"IdTwice", [](Json& j) { j["model"]["vocab"]["zzz"] = 100; }, "is 100; expected an id that no other token has"},
    {"IdTooLarge", [](Json& j) { j["model"]["vocab"]["zzz"] = 1LL << 40; },
     "model.vocab.zzz is 1099511627776; expected"},
    {"MergeOfNoToken",
     [](Json& j) {
       j["model"]["merges"][3] = {"q", "zz"};
     },
     R"(model.merges[3] is ["q","zz"]; expected tokens of the vocabulary, which lacks "zz")"},
    {"MergeIntoNoToken",
     [](Json& j) {
       j["model"]["merges"][3] = {"q", "z"};
     },
     R"(which lacks "qz")"},
    {"MergeTwice", [](Json& j) { j["model"]["merges"][3] = j["model"]["merges"][2]; }, "model.merges[3] is ["},
    {"MergeOfThree", [](Json& j) { j["model"]["merges"][3] = "a b c"; },
     R"(model.merges[3] is "a b c"; expected two tokens with a space)"},
    {"AddedTwice", [](Json& j) { j["added_tokens"][1] = j["added_tokens"][0]; },
     R"(added_tokens[1].content is "<|begin_of_text|>"; expected a text that no other)"},
    {"AddedWithoutText", [](Json& j) { j["added_tokens"][1]["content"] = ""; }, R"(added_tokens[1].content is "")"},
    {"AddedElsewhere", [](Json& j) { j["added_tokens"][1]["id"] = 7; },
     R"(added_tokens[1].id is 7; expected 1, which Hugging Face's library would give "<|end_of_text|>")"},
    {"AddedFarAway",
     [](Json& j) {
       j["added_tokens"].push_back({{"content", "<x>"}, {"id", 600}});
     },
     "added_tokens[3].id is 600; expected 512"},
    {"SingleWord",
     [](Json& j) {
       j["added_tokens"].push_back({{"content", "<x>"}, {"id", 512}, {"single_word", true}});
     },
     "added_tokens[3].single_word is true; expected false"},
    {"NoPreTokenizer", [](Json& j) { j["pre_tokenizer"] = nullptr; }, "pre_tokenizer is null; expected ByteLevel"},
    {"OtherPreTokenizer",
     [](Json& j) {
       j["pre_tokenizer"] = {{"type", "Whitespace"}};
     },
     R"(pre_tokenizer is {"type":"Whitespace"}; expected ByteLevel)"},
    {"PrefixSpace", [](Json& j) { j["pre_tokenizer"]["pretokenizers"][1]["add_prefix_space"] = true; },
     "pre_tokenizer.pretokenizers[1].add_prefix_space is true; expected false"},
    {"OtherBehavior", [](Json& j) { j["pre_tokenizer"]["pretokenizers"][0]["behavior"] = "MergedWithNext"; },
     R"(pre_tokenizer.pretokenizers[0].behavior is "MergedWithNext"; expected Isolated)"},
    {"OtherStep",
     [](Json& j) {
       j["pre_tokenizer"]["pretokenizers"][0] = {{"type", "Metaspace"}};
     },
     R"(pre_tokenizer.pretokenizers[0].type is "Metaspace"; expected)"},
    {"OtherProcessor",
     [](Json& j) {
       j["post_processor"] = {{"type", "Odd"}};
     },
     R"(post_processor.type is "Odd")"},
    {"TwoBefore",
     [](Json& j) {
       Json& single = j["post_processor"]["processors"][1]["single"];
       single.insert(single.begin(), single[0]);
     },
     "expected one token at most before the text"},
};

INSTANTIATE_TEST_SUITE_P(TokenizerJson, Refusal, testing::ValuesIn(refusals),
                         [](const auto& test) { return test.param.name; });

TEST(TokenizerJson, WhatIsNoJsonIsRefused) {
  EXPECT_HAS(test::error_of([] { load_tokenizer_json("{\"model\":", "t.json", {}); }), "t.json: no valid JSON");
  EXPECT_HAS(test::error_of([] { load_tokenizer_json("[]", "t.json", {}); }), "t.json is []; expected an object");
}

TEST(TokenizerJson, MergesMayBeTexts) {
  const Json json = changed([](Json& j) {
    for (Json& merge : j["model"]["merges"]) merge = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
  });
  const auto pairs = make_tokenizer(test::golden_file("bpe-512.json"));
  EXPECT_EQ(test::ids_of(*load(json), "the other text"), test::ids_of(*pairs, "the other text"));
}

TEST(TokenizerJson, TheTypeOfTheModelMayBeMissingAsInTheFileOfGpt2) {
  const Json json = changed([](Json& j) { j["model"].erase("type"); });
  const auto typed = make_tokenizer(test::golden_file("bpe-512.json"));
  EXPECT_EQ(test::ids_of(*load(json), "the other text"), test::ids_of(*typed, "the other text"));
}

TEST(TokenizerJson, BytesThatNoTextHasNeedNoToken) {
  const Json json = changed([](Json& j) {
    for (const char* spelled : {"\u00C0", "\u00C1", "\u00F5", "\u00F6", "\u00F7", "\u00F8", "\u00F9", "\u00FA",
                                "\u00FB", "\u00FC", "\u00FD", "\u00FE", "\u00FF"}) {
      EXPECT_EQ(j["model"]["vocab"].erase(spelled), 1u);
    }
  });
  testing::internal::CaptureStderr();
  const auto tokenizer = load(json);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  std::ifstream file(test::golden_file("ids.jsonl"));
  int texts = 0;
  for (std::string line; std::getline(file, line); ++texts) {
    const Json golden = Json::parse(line);
    const std::string text = golden["text"];
    ASSERT_EQ(test::ids_of(*tokenizer, text), golden["bpe-512"].get<Ids>()) << text;
  }
  EXPECT_GT(texts, 300);
}

/// Granite's files lack F1. Neighbours of what is left out become neighbours, as in Hugging Face's tokenizers 0.23.3.
TEST(TokenizerJson, AByteThatBeginsNoCharacterOfUnicodeIsLeftOutWhereItHasNoToken) {
  const auto with = [](bool has_byte) {
    return load(changed([&](Json& j) {
      j["model"]["vocab"]["!\u0122"] = 512;  // ! and the byte 80
      j["model"]["merges"].push_back({"!", "\u0122"});
      if (!has_byte) j["model"]["vocab"].erase("\u00F1");
    }));
  };
  const auto whole = with(true);
  testing::internal::CaptureStderr();
  const auto without = with(false);
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_HAS(told, "t.json: model.vocab has no token for the byte F1");
  std::string marks;
  for (int i = 0; i < 100; ++i) marks += "\U00040000";
  for (const std::string& text : {std::string("a\U0007FFFFb\U00040000"), marks}) {  // the second is a long word
    Ids expected = test::ids_of(*whole, text);
    EXPECT_GT(std::erase(expected, 176), 0u);
    EXPECT_EQ(test::ids_of(*without, text), expected);
  }
  EXPECT_EQ(test::ids_of(*whole, "!\U00040000"), (Ids{test::ids_of(*whole, "!")[0], 176, 225, 225, 225}));
  EXPECT_EQ(test::ids_of(*without, "!\U00040000"), (Ids{512, 225, 225}));
}

TEST(TokenizerJson, WordsThatAreTokensGoBeforeMerges) {
  const auto with = [](bool ignore_merges) {
    return load(changed([&](Json& j) {
      j["model"]["vocab"]["qzqz"] = 512;  // which no merge makes
      j["model"]["ignore_merges"] = ignore_merges;
    }));
  };
  EXPECT_EQ(test::ids_of(*with(true), "qzqz"), Ids{512});
  EXPECT_EQ(test::ids_of(*with(false), "qzqz").size(), 4u);
}

TEST(TokenizerJson, AddedTokensThatAreNotSpecialAreAlwaysCutOut) {
  const auto tokenizer = load(changed([](Json& j) {
    j["added_tokens"].push_back({{"content", "\nnew\n"}, {"id", 512}, {"special", false}, {"normalized", true}});
  }));
  EXPECT_EQ(tokenizer->info().vocab_size, 513);
  const Ids ids = test::ids_of(*tokenizer, "a\nnew\nb");
  ASSERT_EQ(ids.size(), 3u);
  EXPECT_EQ(ids[1], 512);
  EXPECT_EQ(tokenizer->decode(ids), "a\nnew\nb");
  EXPECT_EQ(tokenizer->last_cut("a\nnew\nb"), 6u);
  EXPECT_EQ(tokenizer->last_cut("a\nb\nne"), 2u);  // not within what may be the token
}

TEST(TokenizerJson, FlagsOfSpecialTokensMatterWhenTheyAreFound) {
  const Json json = changed([](Json& j) { j["added_tokens"][1]["lstrip"] = true; });
  EXPECT_EQ(load(json)->info().eos, 1);
  EXPECT_HAS(test::error_of([&] { load(json, {.control_tokens = true}); }), "added_tokens[1].lstrip is true");
}

TEST(TokenizerJson, TheEndOfADocumentComesFromTheTemplateOrTheUser) {
  const Json json = changed([](Json& j) {
    Json& part = j["post_processor"]["processors"][1];
    part["single"].push_back({{"SpecialToken", {{"id", "<|pad|>"}, {"type_id", 0}}}});
    part["special_tokens"]["<|pad|>"] = {{"id", "<|pad|>"}, {"ids", {2}}, {"tokens", {"<|pad|>"}}};
  });
  EXPECT_EQ(load(json)->info().bos, 0);
  EXPECT_EQ(load(json)->info().eos, 2);
  EXPECT_EQ(load(json, {.eos = "<|end_of_text|>"})->info().eos, 1);
  EXPECT_HAS(test::error_of([&] { load(json, {.bos = "<x>"}); }), "bos \"<x>\": t.json has no such token");
}

TEST(TokenizerJson, AnIdThatEndsDocumentsIsOneOfItsTokens) {
  const test::TempFolder folder;
  const std::string config = folder / "generation_config.json";
  test::write_bytes(folder / "tokenizer.json", changed([](Json& j) { j["post_processor"] = nullptr; }).dump());
  for (const char* id : {"512", "60000", "70000", "2147483647", "[512]"}) {
    for (const char* key : {"bos_token_id", "eos_token_id"}) {
      test::write_bytes(config, fmt::format("{{\"{}\": {}}}", key, id));
      testing::internal::CaptureStderr();
      const auto tokenizer = make_tokenizer(folder.path());
      const std::string told = testing::internal::GetCapturedStderr();
      EXPECT_HAS(told, fmt::format("generation_config.json: {}", key));
      EXPECT_HAS(told, "; expected the id of a token of the tokenizer beside it; it is left out");
      EXPECT_EQ(tokenizer->info().bos, 0);  // by their well-known names
      EXPECT_EQ(tokenizer->info().eos, 1);
    }
  }
  test::write_bytes(config, R"({"eos_token_id": 511, "bos_token_id": [0, 60000]})");
  EXPECT_EQ(make_tokenizer(folder.path())->info().eos, 511);
  // What goes first is not contradicted by what is not asked.
  test::write_bytes(config, R"({"eos_token_id": 60000})");
  EXPECT_EQ(make_tokenizer(folder.path(), {.eos = "<|end_of_text|>"})->info().eos, 1);
  test::write_bytes(folder / "tokenizer_config.json", R"({"eos_token": "<|begin_of_text|>"})");
  EXPECT_EQ(make_tokenizer(folder.path())->info().eos, 0);
}

/// Their ids go on from the greatest of all before, those of the vocabulary among them.
TEST(TokenizerJson, ThousandsOfAddedTokens) {
  constexpr int count = 2000;
  const Json json = changed([](Json& j) {
    for (int i = 0; i < count; ++i) {
      j["added_tokens"].push_back({{"content", fmt::format("<|extra{}|>", i)}, {"id", 512 + i}, {"special", true}});
    }
  });
  EXPECT_EQ(load(json)->info().vocab_size, 512 + count);
}

TEST(TokenizerJson, AFolderHasTheFileAndConfigsBesideIt) {
  const test::TempFolder folder;
  EXPECT_HAS(test::error_of([&] { make_tokenizer(folder.path()); }), "has no tokenizer.json");
  test::write_bytes(folder / "tokenizer.json", changed([](Json&) {}).dump());
  EXPECT_EQ(make_tokenizer(folder.path())->info().eos, 1);
  EXPECT_EQ(make_tokenizer(folder.path())->info().path, folder / "tokenizer.json");
  test::write_bytes(folder / "generation_config.json", R"({"eos_token_id": [2, 1]})");
  EXPECT_EQ(make_tokenizer(folder.path())->info().eos, 2);
  test::write_bytes(folder / "tokenizer_config.json", R"({"eos_token": {"content": "the"}})");
  EXPECT_HAS(test::error_of([&] { make_tokenizer(folder.path()); }),
             "tokenizer_config.json: eos_token.content is \"the\"; expected a token");
  test::write_bytes(folder / "tokenizer_config.json", R"({"eos_token": "<|begin_of_text|>"})");
  EXPECT_EQ(make_tokenizer(folder.path())->info().eos, 0);
  EXPECT_EQ(make_tokenizer(folder.path(), {.eos = "<|end_of_text|>"})->info().eos, 1) << "it is asked for";
  // Llama's folders have both.
  test::write_bytes(folder / "tokenizer.model", test::read_bytes(test::golden_file("spm-bpe.model")));
  EXPECT_EQ(make_tokenizer(folder.path())->info().path, folder / "tokenizer.json");
}

TEST(TokenizerJson, WhereItIsRefusedTheModelBesideItIsNamed) {
  const test::TempFolder folder;
  const std::string model = folder / "tokenizer.model", hint = "; the tokenizer.model beside it can be taken instead";
  test::write_bytes(folder / "tokenizer.json", changed([](Json& j) {
                                                 j["normalizer"] = {{"type", "Prepend"}, {"prepend", "_"}};
                                               }).dump());
  const auto message = [&](const TokenizerOptions& options = {}) {
    return test::error_of([&] { make_tokenizer(folder.path(), options); });
  };
  EXPECT_EQ(message().find(hint), std::string::npos);
  test::write_bytes(model, test::lfs_pointer);
  EXPECT_EQ(message().find(hint), std::string::npos);
  test::write_bytes(model, test::read_bytes(test::golden_file("spm-bpe.model")));
  EXPECT_HAS(message(), "expected null: text is taken as it is" + hint);
  EXPECT_HAS(message(), ": --tokenizer " + model);
  EXPECT_EQ(make_tokenizer(model)->info().kind, "sentencepiece");
  // An option that is wrong is no fault of the file.
  test::write_bytes(folder / "tokenizer.json", changed([](Json&) {}).dump());
  EXPECT_EQ(message({.eos = "<none>"}).find(hint), std::string::npos);
}

}  // namespace
}  // namespace octet
