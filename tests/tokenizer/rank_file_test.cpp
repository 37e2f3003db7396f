#include <fstream>
#include <nlohmann/json.hpp>

#include "src/tokenizer/ranks/base64.h"
#include "src/tokenizer/ranks/load_ranks.h"
#include "tests/support/git_lfs_pointer.h"
#include "tests/tokenizer/tokenizer_support.h"

namespace octet {
namespace {

using test::Ids;

std::string in_base64(std::string_view bytes) {
  static constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (i + k < bytes.size() ? static_cast<std::uint8_t>(bytes[i + k]) : 0u);
    }
    const std::size_t there = std::min<std::size_t>(3, bytes.size() - i) + 1;
    for (std::size_t k = 0; k < 4; ++k) out += k < there ? digits[bits >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

/// Lines for all bytes, whose ranks are their values, and for these tokens.
std::string rank_lines(const std::vector<std::string>& tokens) {
  std::string lines;
  for (int byte = 0; byte < 256; ++byte) {
    lines += in_base64(std::string(1, static_cast<char>(byte))) + " " + std::to_string(byte) + "\n";
  }
  int rank = 256;
  for (const std::string& token : tokens) lines += in_base64(token) + " " + std::to_string(rank++) + "\n";
  return lines;
}

TEST(RankFile, NeighboursMergeWhoseBytesAreAToken) {
  const auto tokenizer = load_rank_file(rank_lines({"bc", "ab", "abc", "xyz", "abcd"}), "r", {});
  EXPECT_EQ(test::ids_of(*tokenizer, "abcq"), (Ids{258, 'q'}));  // a + bc, which no list of merges names
  EXPECT_EQ(test::ids_of(*tokenizer, "xyz"), Ids{259});          // no merges lead there: it is looked up as a whole
  EXPECT_EQ(test::ids_of(*tokenizer, "xyzq"), (Ids{'x', 'y', 'z', 'q'}));
  EXPECT_EQ(tokenizer->decode(Ids{258, 'q', 259}), "abcqxyz");
  EXPECT_EQ(tokenizer->info().kind, "tiktoken");
  EXPECT_EQ(tokenizer->info().vocab_size, 261);
  EXPECT_EQ(tokenizer->info().eos, std::nullopt);
  EXPECT_EQ(tokenizer->last_cut("a\nb"), 2u);
}

TEST(RankFile, TheUserNamesTheEndOfADocument) {
  const auto tokenizer = load_rank_file(rank_lines({"ab"}), "r", {.control_tokens = true, .bos = "<b>", .eos = "<e>"});
  EXPECT_EQ(tokenizer->info().bos, 257);
  EXPECT_EQ(tokenizer->info().eos, 258);
  EXPECT_EQ(tokenizer->info().vocab_size, 259);
  EXPECT_EQ(test::ids_of(*tokenizer, "ab<e>"), (Ids{256, 258}));
  EXPECT_HAS(test::error_of([] { load_rank_file(rank_lines({}), "r", {.eos = ""}); }), "eos is empty");
}

TEST(RankFile, WhatIsWrongIsNamedWithItsLine) {
  const auto error = [](const std::string& lines) {
    return test::error_of([&] { load_rank_file(lines, "r.tiktoken", {}); });
  };
  EXPECT_HAS(error(rank_lines({"ab", "ab"})), "r.tiktoken:258: rank 257 or its bytes stand in a line before");
  EXPECT_HAS(error(rank_lines({}) + "YWI= 5\n"), "r.tiktoken:257: rank 5 or its bytes");
  for (const char* line : {"YWI=5", "YWI 300", "Y*I= 300", "YWI= -1", "YWI= 99999999", "YWI= 3x", " 300", "YWJ= 300"}) {
    EXPECT_HAS(error(rank_lines({}) + line + "\n"), "r.tiktoken:257: expected base64") << line;
  }
  EXPECT_HAS(error("YWI= 5\n"), "r.tiktoken: byte 0 has no rank");
  const test::TempFolder folder;
  test::write_bytes(folder / "x", "YWI 5\n" + rank_lines({}));
  EXPECT_HAS(test::error_of([&] { make_tokenizer(folder / "x"); }), "x:1: expected base64");
}

/// Whose last line could be one of a rank file.
TEST(RankFile, APointerOfGitLfsIsRefused) {
  const test::TempFolder folder;
  for (const char* name : {"tokenizer.model", "tokenizer.json"}) {
    test::write_bytes(folder / name, test::lfs_pointer);
    EXPECT_HAS(test::error_of([&] { make_tokenizer(folder.path()); }),
               "/" + std::string(name) + ": is a pointer of Git LFS, which stands for a file that was not fetched");
  }
}

/// As many ranks as that, those above `gap` one further on; words of letters are none of them.
std::string many_ranks(std::int32_t count, std::int32_t gap = INT32_MAX) {
  std::string lines = rank_lines({});
  for (std::int32_t i = 256; i < count; ++i) {
    lines += in_base64("t" + std::to_string(i) + ".") + " " + std::to_string(i < gap ? i : i + 1) + "\n";
  }
  return lines;
}

TEST(RankFile, EncodingsOfOpenAiAreKnownByTheNumberOfRanks) {
  // Their patterns put other pieces together than that of Llama 3, which the cut shows: it has none with PCRE2.
  const auto r50k = load_rank_file(many_ranks(50256), "r", {});
  EXPECT_EQ(r50k->info().vocab_size, 50257);
  EXPECT_EQ(r50k->info().eos, 50256);
  EXPECT_EQ(r50k->last_cut("a\nb"), 0u);
  const auto p50k = load_rank_file(many_ranks(50280, 50256), "p", {});
  EXPECT_EQ(p50k->info().vocab_size, 50281);
  EXPECT_EQ(p50k->info().eos, 50256);
  EXPECT_EQ(p50k->decode(Ids{50256, 50257}), "<|endoftext|>t50256.");
  const auto o200k = load_rank_file(many_ranks(199998), "o", {.control_tokens = true});
  EXPECT_EQ(o200k->info().vocab_size, 200019);
  EXPECT_EQ(o200k->info().eos, 199999);
  EXPECT_EQ(test::ids_of(*o200k, "<|endofprompt|>"), Ids{200018});
  EXPECT_EQ(o200k->last_cut("a\nb"), 0u);
}

TEST(RankFile, Llama3HasItsSpecialTokens) {
  std::vector<std::string> tokens(128000 - 256);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = "t" + std::to_string(i) + ".";
  const test::TempFolder folder;
  test::write_bytes(folder / "tokenizer.model", rank_lines(tokens));
  const auto tokenizer = make_tokenizer(folder.path());
  const TokenizerInfo& info = tokenizer->info();
  EXPECT_EQ(info.vocab_size, 128256);
  EXPECT_EQ(info.bos, 128000);
  EXPECT_EQ(info.eos, 128001);
  EXPECT_EQ(tokenizer->decode(Ids{128006, 128007, 128008, 128009, 128255}),
            "<|start_header_id|><|end_header_id|><|reserved_special_token_4|><|eot_id|><|reserved_special_token_250|>");
  EXPECT_EQ(test::ids_of(*tokenizer, "<|eot_id|>").size(), 10u);
}

/// Which its maker may cut otherwise. What was encoded with it before was encoded so.
TEST(RankFile, AnEncodingThatIsNotKnownIsTold) {
  const std::string lines = rank_lines({"ab"});
  const auto told = [&](const std::string& text, const TokenizerOptions& options) {
    testing::internal::CaptureStderr();
    load_rank_file(text, "r.tiktoken", options);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_HAS(told(lines, {}), "W r.tiktoken: no encoding of 257 ranks is known; text is cut into words by the pattern");
  EXPECT_EQ(told(many_ranks(50256), {}), "");
  const std::uint64_t fingerprint = load_rank_file(lines, "r.tiktoken", {})->info().fingerprint;
  EXPECT_EQ(told(lines, {.recorded = RecordedTokens{.fingerprint = fingerprint}}), "");
  EXPECT_HAS(told(lines, {.recorded = RecordedTokens{.fingerprint = fingerprint + 1}}), "no encoding of 257 ranks");
}

TEST(RankFile, Cl100kHasItsSpecialTokensInTiktokensNumbers) {
  std::vector<std::string> tokens(100256 - 256);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = "t" + std::to_string(i) + ".";
  const auto tokenizer = load_rank_file(rank_lines(tokens), "r", {.eos = "<|endoftext|>"});
  EXPECT_EQ(tokenizer->info().vocab_size, 100277);
  EXPECT_EQ(tokenizer->info().eos, 100257);
  EXPECT_EQ(tokenizer->decode(Ids{100258, 100276}), "<|fim_prefix|><|endofprompt|>");
  EXPECT_HAS(test::error_of([&] { (void)tokenizer->decode(Ids{100256}); }), "100256 is none of the vocabulary");
}

TEST(RankFile, IdsAreThoseOfTiktoken) {
  const auto tokenizer = make_tokenizer(test::golden_file("ranks-512.tiktoken"));
  std::ifstream file(test::golden_file("ids.jsonl"));
  int texts = 0;
  for (std::string line; std::getline(file, line); ++texts) {
    const nlohmann::json golden = nlohmann::json::parse(line);
    const std::string text = golden["text"];
    const Ids ids = test::ids_of(*tokenizer, text);
    ASSERT_EQ(ids, golden["ranks-512"].get<Ids>()) << golden["text"];
    ASSERT_EQ(tokenizer->decode(ids), text);
  }
  EXPECT_GT(texts, 300);
}

TEST(Base64, OnlyWhatItIs) {
  EXPECT_EQ(base64_bytes("YWJj"), "abc");
  EXPECT_EQ(base64_bytes("YQ=="), "a");
  EXPECT_EQ(base64_bytes("/+8="), "\xFF\xEF");
  EXPECT_EQ(base64_bytes(""), "");
  for (const char* text : {"YQ=", "YQ", "Y===", "YR==", "Y Q=", "=YQ="})
    EXPECT_EQ(base64_bytes(text), std::nullopt) << text;
}

}  // namespace
}  // namespace octet
