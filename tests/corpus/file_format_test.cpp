#include "src/corpus/file_format.h"

#include "tests/corpus/corpus_test.h"

namespace octet {
namespace {

using test::CorpusTest;
using test::error_of;
using test::packed;
using test::write_bytes;

class FileFormatTest : public CorpusTest {
 protected:
  std::string format_of(const std::string& name, const std::string& text, std::optional<TextFormat> asked = {}) {
    write_bytes(folder_ / name, text);
    return text_of(format_of_file(folder_ / name, asked));
  }
};

const std::string record = R"({"text": "a"})";

TEST_F(FileFormatTest, IsToldByContentAndName) {
  EXPECT_EQ(format_of("a.txt", "text"), "text");
  EXPECT_EQ(format_of("a", ""), "text");
  EXPECT_EQ(format_of("b.jsonl", ""), "jsonl");
  EXPECT_EQ(format_of("c", "{no json}\n"), "text");
  EXPECT_EQ(format_of("d", "{\n}"), "text") << "the record has to be on one line";
  EXPECT_EQ(format_of("e.jsonl", record + "\n"), "jsonl");
  EXPECT_EQ(format_of("f.json", "\n " + record), "jsonl");
  EXPECT_EQ(format_of("g", record + "\n{broken"), "jsonl") << "no name says what it is, so the content does";
  EXPECT_EQ(format_of("h", R"({"text": ")" + std::string(100000, 'x') + "\"}"), "jsonl")
      << "a line without end in sight";
  EXPECT_EQ(format_of("i.jsonl", "\xEF\xBB\xBF" + record), "jsonl") << "behind a byte order mark";
}

TEST_F(FileFormatTest, AFirstLineThatIsBrokenLeavesAFileWhatItsNameSays) {
  EXPECT_EQ(format_of("a.jsonl", R"({"text": "a", )"
                                 "\n" +
                                     record),
            "jsonl");
  EXPECT_EQ(format_of("b.jsonl", "\n  {\"text\": \"\xE2\x82\"}\n" + record), "jsonl") << "no UTF-8";
  EXPECT_EQ(format_of("c.jsonl", R"({"text": "\ud83d"})"), "jsonl") << "half a surrogate pair";
  EXPECT_HAS(error_of([&] { format_of("d.json", "{\n \"text\": \"a\"\n}\n"); }), "its content text")
      << "JSON over many lines has no record a line";
  EXPECT_HAS(error_of([&] { format_of("e.jsonl", "no record\n"); }), "its content text");
}

TEST_F(FileFormatTest, WhatBeginsAsJsonlIsNoTextUnlessItsNameOrTheUserSaysSo) {
  EXPECT_EQ(format_of("part-00000", R"({"score": NaN, "text": "a doc"})"), "jsonl") << "as Python writes it";
  EXPECT_EQ(format_of("part-00001", R"({"id": 123456789012345678901234567890, "text": "a"})"), "jsonl");
  EXPECT_HAS(error_of([&] { format_of("a.txt", R"({"score": NaN, "text": "a doc"})"); }), "its content jsonl");
  const std::string broken = "\xEF\xBB\xBF\n {\"text\": \"a\",\n" + record;
  EXPECT_HAS(
      error_of([&] { format_of("part-00002", broken); }),
      "part-00002: it begins as JSONL does, but its first line is no JSON object, and its name does not say what "
      "it is; expected --format jsonl or --format text");
  EXPECT_EQ(format_of("part-00002", broken, TextFormat::jsonl), "jsonl");
  EXPECT_EQ(format_of("part-00002", broken, TextFormat::text), "text");
  EXPECT_EQ(format_of("b.txt", broken), "text");
  write_bytes(folder_ / "c", broken);
  EXPECT_HAS(error_of([&] { format_of_file(packed(folder_ / "c", "gzip", ".gz"), {}); }), "c.gz: it begins as JSONL");
}

TEST_F(FileFormatTest, PackedFilesAreLookedInto) {
  write_bytes(folder_ / "a.jsonl", record + "\n");
  EXPECT_EQ(text_of(format_of_file(packed(folder_ / "a.jsonl", "gzip", ".gz"), {})), "jsonl in gzip");
  EXPECT_EQ(text_of(format_of_file(packed(folder_ / "a.jsonl", "zstd", ".zst"), {})), "jsonl in zstd");
  EXPECT_EQ(text_of(format_of_file(packed(folder_ / "a.jsonl", "zstd", ".zstd"), {})), "jsonl in zstd");
  write_bytes(folder_ / "b", "text");
  EXPECT_EQ(text_of(format_of_file(packed(folder_ / "b", "gzip", ".gz"), {})), "text in gzip");
}

TEST_F(FileFormatTest, NameAndContentThatDisagreeAreOneError) {
  const std::string gzip = "\x1F\x8B\x08";
  const std::vector<std::array<std::string, 3>> cases = {
      {"a.txt", record + "\n", "its name says text, its content jsonl"},
      {"a.jsonl", "text\n", "its name says jsonl, its content text"},
      {"a.json", "[{}]\n", "expected an object a line"},
      {"b.jsonl", gzip, "its name says jsonl, its content gzip"},
      {"a.gz", "text", "its name says gzip, its content plain"},
      {"b.gz", "", "its name says gzip, its content that it is empty"},
      {"a.zst", gzip, "its name says zstd, its content gzip"},
      {"a.parquet", "text", "its name says parquet, its content something else"},
      {"b.txt", "PAR1", "its name says text, its content parquet"},
      {"c.txt", std::string("\xFD") + "7zXZ", "is packed by xz"},
      {"d.txt", "BZh91AY", "is packed by bzip2"},
      {"e.txt", "PK\x03\x04", "is packed by zip"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c[0]);
    EXPECT_HAS(error_of([&] { format_of(c[0], c[1]); }), c[2]);
  }
}

TEST_F(FileFormatTest, WhatTheUserSaysOverrulesTextAndJsonl) {
  EXPECT_EQ(format_of("a.txt", record, TextFormat::text), "text");
  EXPECT_EQ(format_of("a.jsonl", "broken\n", TextFormat::jsonl), "jsonl");
  EXPECT_HAS(error_of([&] { format_of("a", "PAR1", TextFormat::text); }), "its content parquet");
}

}  // namespace
}  // namespace octet
