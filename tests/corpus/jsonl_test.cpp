// JSONL through prepare: what becomes of records, good and bad.
#include "src/base/error.h"
#include "tests/corpus/corpus_test.h"

namespace octet {
namespace {

using namespace std::string_literals;
using test::CorpusTest;
using test::error_of;
using test::packed;
using test::write_bytes;

class Jsonl : public CorpusTest {
 protected:
  PrepareReport prepared(const std::string& text, const std::function<void(PrepareOptions&)>& change = {}) {
    write_bytes(folder_ / "a.jsonl", text);
    PrepareOptions o = options({"a.jsonl"});
    o.format = TextFormat::jsonl;
    if (change) change(o);
    return prepare(o);
  }
  std::string refusal(const std::string& text, const std::function<void(PrepareOptions&)>& change = {}) {
    return error_of([&] { prepared(text, change); });
  }
};

TEST_F(Jsonl, TheFieldOfEachRecordIsADocument) {
  const PrepareReport report =
      prepared("{\"id\": 1, \"text\": \"a\\n\\u00e9\"}\r\n\n  {\"text\":\"\", \"x\": [1, {}]}\n{\"text\":\"b\"}");
  EXPECT_EQ(tokens(), "a\n\xC3\xA9\0b\0"s);
  EXPECT_EQ(report.counts.kept.documents, 2);
  EXPECT_EQ(report.counts.kept.text_bytes, 5);
  EXPECT_EQ(report.counts.empty_documents, 1);
  prepared(R"({"text": "no", "body": "yes"})", [](PrepareOptions& o) { o.field = "body"; });
  EXPECT_EQ(tokens(), "yes\0"s);
}

/// Python's json module writes NaN, Infinity and integers of any length, and reads them.
TEST_F(Jsonl, NumbersThatPythonWritesAreTaken) {
  const PrepareReport report = prepared(
      "{\"score\": NaN, \"text\": \"a NaN\"}\n{\"text\": \"b\", \"id\": 123456789012345678901234567890}\n"
      "{\"x\": [-Infinity, 1e999], \"text\": \"c\"}\n");
  EXPECT_EQ(tokens(), "a NaN\0b\0c\0"s);
  EXPECT_EQ(report.counts.broken, 0);
  EXPECT_HAS(refusal("{\"a\": NaN, \"text\": \"\\ud83d\"}"), "a.jsonl:1: an escape is half of a surrogate pair");
  EXPECT_HAS(refusal("{\"text\": NaN}"), "has no text as \"text\", but another kind of value");
  prepared("{\"a\": NaN, \"text\": \"\\ud83d\"}", [](PrepareOptions& o) { o.bad_utf8 = BadUtf8::replace; });
  EXPECT_EQ(tokens(), "\xEF\xBF\xBD\0"s);
}

TEST_F(Jsonl, AFieldMayBeAKeyOfAnObjectInTheRecord) {
  const auto field = [](const std::string& name) { return [=](PrepareOptions& o) { o.field = name; }; };
  prepared(R"({"text": "no", "meta": {"text": "yes", "x": {"y.z": "deep"}}})", field("meta.text"));
  EXPECT_EQ(tokens(), "yes\0"s);
  prepared(R"({"meta": {"text": "no"}, "meta.text": "yes"})", field("meta.text"));
  EXPECT_EQ(tokens(), "yes\0"s) << "a key of that name goes first";
  prepared(R"({"meta": {"x": {"y.z": "deep"}}})", field("meta.x.y.z"));
  EXPECT_EQ(tokens(), "deep\0"s);
  for (const char* line : {R"({"meta": {}})", R"({"meta": "text"})", R"({"text": "a"})"}) {
    EXPECT_HAS(refusal(line, field("meta.text")), "is an object without the key \"meta.text\"");
  }
  EXPECT_HAS(refusal(R"({"meta": {}, "meta": {"text": "a"}})", field("meta.text")), "2 times; expected it once");
}

TEST_F(Jsonl, WithoutAnEndDocumentsStandInTheIndexAlone) {
  prepared("{\"text\": \"ab\"}\n{\"text\": \"c\"}\n", [](PrepareOptions& o) { o.eos = false; });
  EXPECT_EQ(tokens(), "abc");
  EXPECT_EQ(TokenFile(folder_ / "out/x").document_begin(1), 2);
  EXPECT_HAS(refusal("{}", [](PrepareOptions& o) { o.bos = true; }), "no token that begins a document");
}

TEST_F(Jsonl, ABrokenLineIsRefusedWithFileLineAndReason) {
  const std::string good = "{\"text\": \"a\"}\n";
  const std::vector<std::array<std::string, 2>> cases = {
      {"{\"text\": \"a\"", "is not JSON"},
      {"{\"text\": \"a\"} x", "is not JSON"},
      {"\"a\"", "is JSON, but no object"},
      {"{\"txt\": \"a\"}", "is an object without the key \"text\""},
      {"{\"text\": null}", "has no text as \"text\", but null"},
      {R"({"text": "first", "a": {"text": 1}, "text": "second"})", "has the key of \"text\" 2 times; expected it once"},
      {"{\"text\": 1}", "has no text as \"text\", but another kind of value"},
      {"{\"text\": \"\\x\"}", "is not JSON"},
      {"{\"text\": \"a\", \"b\": tru}", "is not JSON"},
      {"{\"text\": \"a\x01\"}", "is not JSON"},
  };
  for (const auto& [line, expected] : cases) {
    SCOPED_TRACE(line);
    const std::string message = refusal(fmt::format("{}\n{}\n{}", good, line, good));
    EXPECT_HAS(message, (folder_ / "a.jsonl") + ":3: " + expected);
    EXPECT_HAS(message, "broken records: 1, more than --max-bad 0 allows");
    EXPECT_TRUE(std::filesystem::is_empty(folder_ / "out"));
  }
}

TEST_F(Jsonl, BrokenLinesAreCountedUpToWhatIsAllowed) {
  const std::string text = "{\n{\"text\": \"a\"}\n[]\nnull\n";
  const auto allow = [](std::int64_t count) { return [=](PrepareOptions& o) { o.max_bad = count; }; };
  EXPECT_EQ(prepared(text, allow(3)).counts.broken, 3);
  EXPECT_EQ(tokens(), "a\0"s);
  EXPECT_HAS(refusal(text, allow(2)), "a.jsonl:4: is JSON, but no object");
}

TEST_F(Jsonl, TheLineNumberIsThatOfTheWholeFileWhereverItIsCut) {
  std::string text;
  for (int i = 1; i <= 400; ++i) text += i == 371 ? "broken\n" : fmt::format("{{\"text\": \"line {}\"}}\n", i);
  const std::string message = refusal(text, [](PrepareOptions& o) {
    o.part_bytes = 1000;
    o.chunk_bytes = 100;
    o.workers = 3;
  });
  EXPECT_HAS(message, "a.jsonl:371: is not JSON");
}

TEST_F(Jsonl, TextThatIsNoUtf8IsRefusedOrReplaced) {
  const auto replace = [](PrepareOptions& o) { o.bad_utf8 = BadUtf8::replace; };
  const std::string text = "{\"text\": \"a\xE2\x82z\"}\n{\"text\": \"\\ud83d!\"}\n";
  EXPECT_HAS(refusal(text), "a.jsonl:1: byte 11 of the line is no UTF-8; --bad-utf8 replace takes it");
  EXPECT_HAS(refusal(text.substr(text.find('\n'))), "a.jsonl:2: an escape is half of a surrogate pair");
  EXPECT_EQ(prepared(text, replace).counts.replaced, 2);
  EXPECT_EQ(tokens(), "a\xEF\xBF\xBDz\0\xEF\xBF\xBD!\0"s);
}

TEST_F(Jsonl, TextThatTheTokenizerRefusesIsNamedByItsLine) {
  EXPECT_HAS(refusal("{\"text\": \"a\"}\n{\"text\": \"ab\\u0000\"}"),
             "a.jsonl:2: byte 0 at offset 2 of the text is not text for the bytes tokenizer");
}

TEST_F(Jsonl, ARecordThatIsTooLongIsRefusedAlsoOutOfABomb) {
  const auto at_most = [](std::int64_t bytes) { return [=](PrepareOptions& o) { o.max_document = bytes; }; };
  const std::string line = "{\"text\": \"" + std::string(5000, 'x') + "\"}\n";
  EXPECT_EQ(prepared(line, at_most(5012)).counts.kept.documents, 1);
  EXPECT_HAS(refusal("\n" + line, at_most(5011)), "a.jsonl:2: is longer than --max-document 4.9 KiB");

  const std::string blanks(300'000, ' ');  // more than is read at once
  EXPECT_HAS(refusal(line + blanks + "\n" + line, at_most(100'000)), "a.jsonl:2: is longer than --max-document");

  write_bytes(folder_ / "bomb.jsonl", "{\"text\": \"" + std::string(8 << 20, 'x'));
  PrepareOptions o = options({packed(folder_ / "bomb.jsonl", "zstd", ".zst")});
  o.max_document = 1 << 20;
  EXPECT_HAS(error_of([&] { prepare(o); }), "bomb.jsonl.zst:1: is longer than --max-document 1.0 MiB");
}

}  // namespace
}  // namespace octet
