#include "src/corpus/document_statistics.h"

#include <algorithm>

#include "src/base/error.h"
#include "tests/corpus/corpus_test.h"

namespace octet {
namespace {

using test::CorpusTest;
using test::run_command;
using test::write_bytes;

class DocumentStatistics : public CorpusTest {
 protected:
  DocumentStatistics() {
    TokenFileWriter writer(folder_ / "x", TokenType::u16);
    const std::vector<std::vector<std::int32_t>> documents = {
        {7, 8, 300}, {7, 300}, {7, 8, 300}, {}, {9, 9, 9, 9, 300}};
    for (const auto& ids : documents) {
      writer.append(ids);
      writer.end_document();
    }
    writer.finish();
  }
};

TEST_F(DocumentStatistics, LengthsAreCountedByPowersOfTwo) {
  const DocumentLengths lengths = document_lengths(TokenFile(folder_ / "x"));
  EXPECT_EQ(lengths.documents[0], 1);
  EXPECT_EQ(lengths.documents[2], 3) << "those with two or three tokens";
  EXPECT_EQ(lengths.documents[3], 1);
  EXPECT_EQ(lengths.least, 0);
  EXPECT_EQ(lengths.median, 3);
  EXPECT_EQ(lengths.most, 5);
}

/// The median is counted out, so that the memory does not grow with the documents.
TEST_F(DocumentStatistics, TheMedianIsExactAlsoAmongLongDocuments) {
  const auto lengths_of = [&](const std::vector<std::int64_t>& lengths) {
    TokenFileWriter writer(folder_ / "y", TokenType::u8, {.overwrite = true});
    for (const std::int64_t tokens : lengths) {
      writer.append(std::vector<std::int32_t>(static_cast<std::size_t>(tokens)));
      writer.end_document();
    }
    writer.finish();
    return document_lengths(TokenFile(folder_ / "y"));
  };
  constexpr std::int64_t large = std::int64_t{1} << 20;
  for (const std::vector<std::int64_t>& lengths : std::vector<std::vector<std::int64_t>>{
           {5}, {9, 2}, {7, 7, 1, 3}, {large + 3, 1, large - 1}, {2 * large, large, 3}, {0, 0, large, large, 4}}) {
    std::vector<std::int64_t> sorted = lengths;
    std::ranges::sort(sorted);
    const DocumentLengths counted = lengths_of(lengths);
    EXPECT_EQ(counted.least, sorted.front());
    EXPECT_EQ(counted.median, sorted[sorted.size() / 2]);
    EXPECT_EQ(counted.most, sorted.back());
  }
}

TEST_F(DocumentStatistics, ControlTokensAndCopiesAreCounted) {
  std::int64_t seen = 0;
  const DocumentScan scan = scan_documents(TokenFile(folder_ / "x"), {{"<end>", 300}, {"<other>", 301}},
                                           [&](std::int64_t tokens) { seen += tokens; });
  EXPECT_EQ(scan.distinct, 4);
  EXPECT_EQ(scan.special, (std::map<std::string, std::int64_t>{{"<end>", 4}}));
  EXPECT_EQ(seen, 13);
}

TEST_F(DocumentStatistics, InspectShowsDocumentsAsText) {
  write_bytes(folder_ / "a.jsonl", "{\"text\": \"one\\n\\u00e9\"}\n{\"text\": \"two\"}\n{\"text\": \"two\"}\n");
  PrepareOptions o = options({"a.jsonl"}, "y");
  prepare(o);
  const auto seen =
      run_command(fmt::format("{}/octet inspect {} --documents 2 --scan", OCTET_BIN_DIR, folder_ / "out/y"));
  EXPECT_EQ(seen.exit_code, 0) << seen.all();
  EXPECT_HAS(seen.out, "document 0   7 tokens: one\\n\xC3\xA9\\x00\n");
  EXPECT_HAS(seen.out, "document 1   4 tokens: two\\x00\n");
  EXPECT_HAS(seen.out, "lengths      4 to 7 tokens, median 4");
  EXPECT_HAS(seen.out, "duplicates   1 documents of 3 have the tokens of another one");
  const auto unknown = run_command(fmt::format("{}/octet inspect {} --documents 1", OCTET_BIN_DIR, folder_ / "x"));
  EXPECT_EQ(unknown.exit_code, 64);
  EXPECT_HAS(unknown.err, "the tokenizer is not known; --tokenizer names it");
}

}  // namespace
}  // namespace octet
