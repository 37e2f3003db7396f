// With a tokenizer that is read from a file: documents in pieces and by several threads have the ids of the whole.
#include <nlohmann/json.hpp>
#include <random>

#include "src/base/error.h"
#include "src/data/data_facts.h"
#include "src/tokenizer/make_tokenizer.h"
#include "tests/corpus/corpus_test.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using test::CorpusTest;
using test::error_of;
using test::read_bytes;
using test::run_command;
using test::write_bytes;

const std::string tokenizer_file = std::string(OCTET_SOURCE_DIR) + "/tests/tokenizer/golden/bpe-512.json";

class Bpe : public CorpusTest {
 protected:
  static PrepareOptions with_tokenizer(PrepareOptions o) {
    o.tokenizer = tokenizer_file;
    return o;
  }
  std::vector<std::int32_t> ids(const std::string& output = "x") {
    const TokenFile file(folder_ / ("out/" + output));
    std::vector<std::int32_t> all(static_cast<std::size_t>(file.tokens()));
    file.read(0, all, std::int64_t{1} << 31);
    return all;
  }
};

std::string mixed_text(unsigned seed, int lines) {
  std::mt19937 random(seed);
  const std::vector<std::string> parts = {"the ",
                                          " and",
                                          "\n",
                                          "\r\n",
                                          "\n\n  ",
                                          "word",
                                          "1234567",
                                          "\xC3\xA9",
                                          "\xF0\x9F\x98\x80",
                                          "\t",
                                          "  ",
                                          "'s",
                                          "x=1;",
                                          "<|end_of_text|>",
                                          "\xE4\xB8\xAD\xE6\x96\x87",
                                          "!?"};
  std::string text;
  for (int i = 0; i < lines; ++i) text += parts[random() % parts.size()];
  return text;
}

TEST_F(Bpe, ADocumentInPiecesHasTheIdsOfTheWhole) {
  const auto tokenizer = make_tokenizer(tokenizer_file);
  for (unsigned seed = 0; seed < 8; ++seed) {
    const std::string text = mixed_text(seed, 4000);
    write_bytes(folder_ / "a.txt", text);
    std::vector<std::int32_t> whole;
    tokenizer->make_encoder()->encode(text, whole);
    whole.push_back(*tokenizer->info().eos);
    for (const std::int64_t chunk : {16, 100, 5000}) {
      PrepareOptions o = with_tokenizer(options({"a.txt"}));
      o.chunk_bytes = chunk;
      o.workers = 3;
      prepare(o);
      ASSERT_TRUE(ids() == whole) << "text " << seed << ", chunks of " << chunk;
    }
  }
}

TEST_F(Bpe, TheTokenizerStandsBesideTheDataAndInWhatIsKnownOfThem) {
  write_bytes(folder_ / "a.jsonl", "{\"text\": \"the word \\u00e9\"}\n");
  const PrepareReport report = prepare(with_tokenizer(options({"a.jsonl"})));
  EXPECT_EQ(report.written.back(), folder_ / "out/x.tokenizer.json");
  EXPECT_EQ(read_bytes(folder_ / "out/x.tokenizer.json"), read_bytes(tokenizer_file));
  const TokenFile file(folder_ / "out/x");
  const auto facts = read_data_facts(folder_ / "out/x.data.json", file);
  ASSERT_TRUE(facts && facts->tokenizer);
  EXPECT_EQ(facts->tokenizer->kind, TokenizerKind::bpe);
  EXPECT_EQ(facts->tokenizer->fingerprint, tokenizer_fingerprint(read_bytes(tokenizer_file)));
  EXPECT_EQ(facts->text_bytes, 11);
  const auto seen = run_command(fmt::format("{}/octet inspect {} --documents 1", OCTET_BIN_DIR, folder_ / "out/x"));
  EXPECT_EQ(seen.exit_code, 0) << seen.all();
  EXPECT_HAS(seen.out, "the word \xC3\xA9");
}

TEST_F(Bpe, ASentencePieceModelIsCutBetweenDocumentsAndStandsBesideTheData) {
  const std::string model = OCTET_SOURCE_DIR "/tests/tokenizer/golden/spm-bpe.model";
  std::string lines;
  std::vector<std::int32_t> expected;
  const auto tokenizer = make_tokenizer(model);
  for (unsigned seed = 0; seed < 40; ++seed) {
    const std::string text = mixed_text(seed, 100);
    lines += nlohmann::json{{"text", text}}.dump() + "\n";
    tokenizer->make_encoder()->encode(text, expected);
    expected.push_back(*tokenizer->info().eos);
  }
  write_bytes(folder_ / "a.jsonl", lines);
  for (const int workers : {1, 3}) {
    PrepareOptions o = options({"a.jsonl"});
    o.tokenizer = model;
    o.chunk_bytes = 200;
    o.workers = workers;
    EXPECT_EQ(prepare(o).written.back(), folder_ / "out/x.tokenizer.model");
    ASSERT_TRUE(ids() == expected) << workers;
  }
  EXPECT_EQ(read_bytes(folder_ / "out/x.tokenizer.model"), read_bytes(model));
}

TEST_F(Bpe, TextThatIsNoUtf8IsRefusedWithItsPlaceOrReplaced) {
  write_bytes(folder_ / "a.txt", "a word\n\nbad \xE2\x82 here\n");
  PrepareOptions o = with_tokenizer(options({"a.txt"}));
  o.split = SplitDocuments::blank_lines;
  EXPECT_HAS(error_of([&] { prepare(o); }), "a.txt: byte 226 at offset 12 is no UTF-8; --bad-utf8 replace takes it");
  o.bad_utf8 = BadUtf8::replace;
  EXPECT_EQ(prepare(o).counts.replaced, 1);
  const auto tokenizer = make_tokenizer(tokenizer_file);
  EXPECT_HAS(tokenizer->decode(ids()), "bad \xEF\xBF\xBD here");
}

TEST_F(Bpe, ShorterIdsThanAByteEachAreStoredInTheNarrowestType) {
  write_bytes(folder_ / "a.txt", mixed_text(1, 100));
  prepare(with_tokenizer(options({"a.txt"})));
  EXPECT_EQ(TokenFile(folder_ / "out/x").type(), TokenType::u16);
}

}  // namespace
}  // namespace octet
