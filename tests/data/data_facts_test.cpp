#include "src/data/data_facts.h"

#include <sys/stat.h>

#include <array>
#include <numeric>

#include "src/base/error.h"
#include "src/base/replace_file.h"
#include "src/data/token_sum.h"
#include "tests/data/support.h"
#include "tests/support/bytes_identity.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using test::read_bytes;
using test::TempFolder;
using test::write_bytes;
using test::write_tokens;

TEST(DataFacts, WrittenDataRememberThem) {
  const TempFolder folder;
  // More than the writer's buffer holds, with the extremes in parts that are flushed at different times.
  write_tokens(folder / "x", 900'000, TokenType::u16, [](std::int64_t i) {
    return i == 600'001 ? 9 : i == 850'000 ? 60000 : 10 + i % 100;
  });
  const TokenFile file(folder / "x");
  std::vector<std::int32_t> ids(900'000);
  file.read(0, ids, 1 << 16);
  TokenSum sum;
  for (const std::int32_t id : ids) {
    const auto stored = static_cast<std::uint8_t>(id % 256), high = static_cast<std::uint8_t>(id / 256);
    sum.add(TokenType::u16, std::array{stored, high});
  }
  EXPECT_EQ(read_data_facts(folder / "x.data.json", file),
            (DataFacts{.range = {.smallest = {9, 600'001}, .largest = {60000, 850'000}}, .content = sum.value()}));
}

/// Whoever kills the writer between the names finds what the pair was to be.
TEST(DataFacts, AreThereBeforeThePairIs) {
  const TempFolder folder;
  fs::create_directory(folder / "x.bin");  // it cannot be replaced
  write_bytes(folder / "x.bin/file", "");
  const DataOrigin origin{.making = {{"--eos", "true"}}, .command = 7, .bos = false, .eos = true};
  {
    TokenFileWriter writer(folder / "x", TokenType::u8, {.overwrite = true, .origin = origin});
    writer.append(std::vector<std::int32_t>{1, 2, 3});
    writer.end_document();
    EXPECT_HAS(test::error_of([&] { writer.finish(); }, ExitCode::internal), "cannot rename");
  }
  const auto record = read_data_record(folder / "x.data.json");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->origin, origin);
  EXPECT_EQ(record->tokens, 3);
  fs::remove_all(folder / "x.bin");
  write_tokens(folder / "y", 3, TokenType::u8, [](std::int64_t i) { return i + 1; });
  EXPECT_EQ(record->fingerprint, TokenFile(folder / "y").fingerprint());
}

TEST(DataFacts, WhatIsWrongWithAFileIsToldOnce) {
  const TempFolder folder;
  write_tokens(folder / "x", 10, TokenType::u8, [](std::int64_t i) { return i; });
  write_bytes(folder / "x.data.json", "{");
  const TokenFile file(folder / "x");
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(read_data_facts(folder / "x.data.json", file), std::nullopt);
  const std::string logged = testing::internal::GetCapturedStderr();
  const std::size_t first = logged.find("it is not used");
  EXPECT_NE(first, std::string::npos) << logged;
  EXPECT_EQ(logged.find("it is not used", first + 1), std::string::npos) << logged;
}

TokenizerIdentity some_tokenizer() {
  return {.kind = TokenizerKind::bpe,
          .file = "own.json",
          .fingerprint = 0xfedcba9876543210,
          .vocab_size = 512,
          .bos = 510,
          .eos = std::nullopt,
          .special = {{"<|begin|>", 510}, {"<|end \"of\" it|>", 511}}};
}

TEST(DataFacts, NameTheTokenizerAndTheTextWhereTheWriterWasTold) {
  const TempFolder folder;
  {
    TokenFileWriter writer(folder / "x", TokenType::u16, {.tokenizer = some_tokenizer()});
    writer.append(std::vector<std::int32_t>{1, 2, 3});
    writer.count_text(20);
    writer.end_document();
    writer.append(std::vector<std::int32_t>{400});
    writer.count_text(5);
    writer.end_document();
    writer.finish();
  }
  const auto facts = read_data_facts(folder / "x.data.json", TokenFile(folder / "x"));
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->tokenizer, some_tokenizer());
  EXPECT_EQ(facts->text_bytes, 25);
  EXPECT_HAS(read_bytes(folder / "x.data.json"),
             R"("fingerprint":"fedcba9876543210","vocab_size":512,"bos":510,"eos":null)");
}

TEST(DataFacts, OfAnOlderVersionAreReadAsTheyWere) {
  const TempFolder folder;
  write_tokens(folder / "x", 40, TokenType::u8, [](std::int64_t i) { return i; });
  const TokenFile x(folder / "x");
  write_bytes(folder / "x.data.json",
              fmt::format(R"({{"format":1,"fingerprint":"{:016x}","tokens":40,"smallest":{{"id":0,"position":0}},)"
                          R"("largest":{{"id":39,"position":39}},"text_bytes":90}})",
                          x.fingerprint()));
  const DataFacts old{.range = {.smallest = {0, 0}, .largest = {39, 39}}, .text_bytes = 90};
  EXPECT_EQ(read_data_facts(folder / "x.data.json", x), old);
  const auto record = read_data_record(folder / "x.data.json");
  EXPECT_TRUE(record && !record->origin);
  DataFacts more = old;
  more.content = 5;
  more.origin = {.making = {{"--part", "of 3"}}, .command = 0xabcdef, .bos = true, .eos = false};
  ASSERT_TRUE(write_data_facts(folder / "x.data.json", x, more));
  EXPECT_EQ(read_data_facts(folder / "x.data.json", x), more);
}

TEST(DataFacts, OfOtherDataOrDamagedIsNotUsed) {
  const TempFolder folder;
  {
    TokenFileWriter writer(folder / "x", TokenType::u8, {.tokenizer = some_tokenizer()});
    std::vector<std::int32_t> ids(40);
    std::iota(ids.begin(), ids.end(), 0);
    writer.append(ids);
    writer.count_text(90);
    writer.end_document();
    writer.finish();
  }
  write_tokens(folder / "y", 40, TokenType::u8, [](std::int64_t i) { return i + 1; });
  const TokenFile x(folder / "x");
  const std::string good = read_bytes(folder / "x.data.json");
  ASSERT_TRUE(read_data_facts(folder / "x.data.json", x));
  EXPECT_FALSE(read_data_facts(folder / "y.data.json", x));
  EXPECT_FALSE(read_data_facts(folder / "none.data.json", x));
  const auto with = [&](const std::string& what, const std::string& by) {
    std::string text = good;
    const auto at = text.find(what);
    if (at == std::string::npos) throw std::runtime_error(what);
    return text.replace(at, what.size(), by);
  };
  for (const std::string& text :
       {std::string(), good.substr(0, good.size() / 2), std::string("[]"), with("\"format\":1", "\"format\":2"),
        with("\"id\":39", "\"id\":\"39\""), with("\"position\":39", "\"position\":40"),
        with("\"tokens\":40", "\"tokens\":41"), with("{\"id\":0", "{\"more\":1,\"id\":0"),
        with("\"text_bytes\":90", "\"text_bytes\":-1"), with("\"bpe\"", "\"words\""), with("fedcba98", "FEDCBA98"),
        with("\"own.json\"", "\"/own.json\""), with("\"bos\":510", "\"bos\":512"),
        with("\"<|begin|>\":510", "\"<|begin|>\":-1"), with("\"content\":\"", "\"content\":\"g"),
        with("\"eos\"", "\"more\":1,\"eos\"")}) {
    write_bytes(folder / "bad.json", text);
    EXPECT_FALSE(read_data_facts(folder / "bad.json", x)) << text;
  }
}

TEST(DataFacts, SideFileHasTheUsersRightsAndFollowsNoLink) {
  const TempFolder folder;
  const mode_t before = ::umask(0027);
  write_tokens(folder / "x", 40, TokenType::u8, [](std::int64_t) { return 1; });
  ::umask(before);
  struct stat info {};
  ASSERT_EQ(::stat((folder / "x.data.json").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640U);

  // Neither the name itself nor that of the file which takes its place may lead elsewhere.
  write_bytes(folder / "precious", "mine");
  fs::remove(folder / "x.data.json");
  fs::create_symlink(folder / "precious", folder / "x.data.json");
  const std::string temporary = fmt::format("{}.0-{}.tmp", folder / "z.data.json", ::getpid());
  fs::create_symlink(folder / "precious", temporary);
  const TokenFile file(folder / "x");
  EXPECT_TRUE(write_data_facts(folder / "x.data.json", file, {}));
  EXPECT_FALSE(fs::is_symlink(folder / "x.data.json"));
  EXPECT_TRUE(write_data_facts(folder / "z.data.json", file, {}));
  EXPECT_FALSE(fs::is_symlink(folder / "z.data.json"));
  EXPECT_EQ(read_bytes(folder / "precious"), "mine");
}

TEST(TokenizerIdentity, IsTheSameWhereTheIdsAre) {
  const TokenizerIdentity one = some_tokenizer();
  TokenizerIdentity other = one;
  other.file = "copy.json";
  other.eos = 512;
  other.vocab_size = 513;  // a rank file gets the token that is named
  EXPECT_TRUE(same_tokenizer(one, other));
  other.fingerprint ^= 1;
  EXPECT_FALSE(same_tokenizer(one, other));
  EXPECT_FALSE(same_tokenizer(one, test::bytes_tokenizer_identity()));
  EXPECT_HAS(tokenizer_difference(one, other),
             "the tokenizer was bpe own.json (fedcba9876543210, 512 ids) and bpe copy");
  other = one;
  other.file = "copy.json";
  EXPECT_EQ(tokenizer_difference(one, other), "");
  other.eos = 511;
  EXPECT_EQ(tokenizer_difference(one, other), "what ends a document was no token and <|end \"of\" it|> (id 511)");
  other.bos = std::nullopt;
  EXPECT_EQ(tokenizer_difference(one, other), "what begins a document was <|begin|> (id 510) and no token");
  EXPECT_EQ(tokenizer_copy_path("a/x", TokenizerKind::bpe), "a/x.tokenizer.json");
  EXPECT_EQ(tokenizer_copy_path("a/x", TokenizerKind::tiktoken), "a/x.tokenizer.tiktoken");
  EXPECT_EQ(tokenizer_copy_path("a/x", TokenizerKind::sentencepiece), "a/x.tokenizer.model");
  EXPECT_EQ(tokenizer_copy_path("a/x", TokenizerKind::bytes), "");
  EXPECT_EQ(text_of(one), "bpe own.json (fedcba9876543210, 512 ids)");
  EXPECT_NE(tokenizer_fingerprint("a"), tokenizer_fingerprint("b"));
}

}  // namespace
}  // namespace octet
