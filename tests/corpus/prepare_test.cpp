#include "src/corpus/prepare.h"

#include "src/data/data_facts.h"
#include "src/data/token_file.h"
#include "tests/data/support.h"
#include "tests/support/bytes_identity.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;
using test::error_of;
using test::read_bytes;
using test::TempFolder;
using test::write_bytes;

class Prepare : public testing::Test {
 protected:
  PrepareOptions options(const std::string& input) {
    PrepareOptions o;
    o.inputs = {folder_ / input};
    o.output = folder_ / "out/x";
    return o;
  }
  std::string tokens() { return read_bytes(folder_ / "out/x.bin"); }
  TempFolder folder_;
};

TEST_F(Prepare, ReadsAFolderSortedByPathWithoutHiddenFiles) {
  write_bytes(folder_ / "text/b.txt", "second");
  write_bytes(folder_ / "text/a/z.txt", "first \xC3\xA9");
  write_bytes(folder_ / "text/c.txt", "third");
  write_bytes(folder_ / "text/empty.txt", "");
  write_bytes(folder_ / "text/.hidden", "no");
  write_bytes(folder_ / "text/.git/config", "no");
  fs::create_directory_symlink("..", folder_ / "text/loop");
  const PrepareReport report = prepare(options("text"));
  EXPECT_EQ(tokens(), "first \xC3\xA9\0second\0third\0"s);
  EXPECT_EQ(report.files, 4);
  EXPECT_EQ(report.counts.empty_files, 1);
  EXPECT_EQ(report.skipped, 3);
  EXPECT_EQ(report.counts.kept.documents, 3);
  EXPECT_EQ(report.counts.kept.text_bytes, 19);
  EXPECT_EQ(report.counts.kept.tokens, 22);
  EXPECT_EQ(report.written,
            (std::vector<std::string>{folder_ / "out/x.bin", folder_ / "out/x.idx", folder_ / "out/x.data.json"}));
  const TokenFile file(folder_ / "out/x");
  const auto facts = read_data_facts(folder_ / "out/x.data.json", file);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->tokenizer, test::bytes_tokenizer_identity());
  EXPECT_EQ(facts->text_bytes, 19);
  EXPECT_EQ(facts->range.largest.id, 0xC3);
  EXPECT_EQ(file.documents(), 3);
  EXPECT_EQ(file.document_begin(1), 9);
  const auto entropies = stream_entropies(file);
  ASSERT_TRUE(entropies && report.entropies);
  EXPECT_EQ(entropies->order0, report.entropies->order0);
  EXPECT_EQ(entropies->order2, report.entropies->order2);
}

TEST_F(Prepare, ChunkSizeDoesNotMatter) {
  std::string text;
  for (int i = 0; i < 3000; ++i)
    text += i % 17 == 0 ? "\n \n" : "word " + std::to_string(i) + (i % 5 == 0 ? "\r\n" : " ");
  write_bytes(folder_ / "a.txt", text);
  for (const SplitDocuments split : {SplitDocuments::none, SplitDocuments::blank_lines}) {
    std::vector<std::string> results;
    for (const std::int64_t chunk : {1, 7, 4096, 4 << 20}) {
      PrepareOptions o = options("a.txt");
      o.split = split;
      o.chunk_bytes = chunk;
      o.overwrite = true;
      prepare(o);
      results.push_back(tokens() + read_bytes(folder_ / "out/x.idx"));
      EXPECT_EQ(results.back(), results.front()) << "chunks of " << chunk;
    }
  }
}

TEST_F(Prepare, SplitsAtBlankLines) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a\nb\n\nc\n", "a\nb\n\0c\n\0"s},
      {"\n\n  a\n \t \n\n\nb", "  a\n\0b\0"s},
      {"a\r\n\r\nb\r\n", "a\r\n\0b\r\n\0"s},
      {"one", "one\0"s},
      {"a\n   ", "a\n\0"s},
      {std::string(70000, ' ') + "x", std::string(70000, ' ') + "x\0"s},
  };
  for (const auto& [text, expected] : cases) {
    write_bytes(folder_ / "a.txt", text);
    PrepareOptions o = options("a.txt");
    o.split = SplitDocuments::blank_lines;
    o.overwrite = true;
    prepare(o);
    EXPECT_EQ(tokens(), expected) << text.substr(0, 20);
  }
  EXPECT_HAS(error_of([] { split_documents_from("line"); }), "expected none or blank-lines");
}

TEST_F(Prepare, NamesFileAndOffsetOfBinaryData) {
  write_bytes(folder_ / "text/a.txt", "good");
  write_bytes(folder_ / "text/b.txt", std::string(5000, 'x') + '\0' + "y");
  PrepareOptions o = options("text");
  o.chunk_bytes = 4096;
  const std::string message = error_of([&] { prepare(o); });
  EXPECT_HAS(message, folder_ / "text/b.txt");
  EXPECT_HAS(message, "byte 0 at offset 5000");
  EXPECT_TRUE(fs::is_empty(folder_ / "out"));
}

TEST_F(Prepare, ANameOfAFileIsOneLineOfTheLog) {
  write_bytes(folder_ / "text/a.txt", "a");
  write_bytes(folder_ / "text/.b\n2026-01-01 00:00:00 W forged\x1b[2J", "no");
  testing::internal::CaptureStderr();
  prepare(options("text"));
  EXPECT_HAS(testing::internal::GetCapturedStderr(), "text/.b\\n2026-01-01 00:00:00 W forged\\x1b[2J\n");
}

TEST_F(Prepare, RefusesAnInputThatAnOutputWouldReplace) {
  for (const char* name : {"x.bin", "x.idx", "x.data.json", "x-holdout.bin"}) {
    const std::string input = folder_ / (std::string("out/") + name);
    write_bytes(input, "text");
    PrepareOptions o = options(std::string("out/../out/") + name);
    o.holdout = 0.5;
    o.overwrite = true;
    EXPECT_HAS(error_of([&] { prepare(o); }),
               std::string(name) + " is an input, and an output would take its place: take another --output");
    fs::create_symlink(input, folder_ / "link.txt");
    o.inputs = {folder_ / "link.txt"};
    EXPECT_HAS(error_of([&] { prepare(o); }), "link.txt is an input, and an output would take its place");
    EXPECT_EQ(read_bytes(input), "text");
    fs::remove(input);
    fs::remove(folder_ / "link.txt");
  }
}

TEST_F(Prepare, RefusesInputsWithoutText) {
  fs::create_directory(folder_ / "nothing");
  write_bytes(folder_ / "empty.txt", "");
  write_bytes(folder_ / "hidden/.x", "x");
  EXPECT_HAS(error_of([&] { prepare(options("missing")); }),
             "input " + (folder_ / "missing") + ": cannot be read: No such file");
  EXPECT_HAS(error_of([&] { prepare(options("nothing")); }), "no text files in the input");
  EXPECT_HAS(error_of([&] { prepare(options("hidden")); }), "(1 skipped)");
  EXPECT_HAS(error_of([&] { prepare(options("empty.txt")); }), (folder_ / "empty.txt") + ": no text is in the file");
  PrepareOptions twice = options("hidden/.x");
  twice.inputs.push_back(folder_ / "hidden/../hidden/.x");
  EXPECT_HAS(error_of([&] { prepare(twice); }), "is given twice");
  EXPECT_HAS(error_of([] { prepare(PrepareOptions{.inputs = {"/dev/null"}, .output = "x"}); }), "neither a file");
  EXPECT_FALSE(fs::exists(folder_ / "out/x.bin"));
  EXPECT_FALSE(fs::exists(folder_ / "out/x.idx"));
}

}  // namespace
}  // namespace octet
