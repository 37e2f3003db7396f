// Parquet files, written here by Arrow; in a build without it their refusal.
#include "src/base/error.h"
#include "tests/corpus/corpus_test.h"

#ifdef OCTET_HAS_ARROW
#include <arrow/io/file.h>
#include <parquet/column_writer.h>
#include <parquet/file_writer.h>
#include <parquet/schema.h>
#endif

namespace octet {
namespace {

using namespace std::string_literals;
using test::CorpusTest;
using test::error_of;
using test::read_bytes;
using test::write_bytes;

using Texts = std::vector<std::optional<std::string>>;

class Parquet : public CorpusTest {
 protected:
#ifdef OCTET_HAS_ARROW
  /// A file with the columns id (numbers), text (may be null) and tags (lists of texts), in groups of rows.
  void write(const std::string& name, const std::vector<Texts>& groups) {
    using parquet::LogicalType, parquet::Repetition, parquet::Type;
    using parquet::schema::GroupNode, parquet::schema::PrimitiveNode;
    const auto text = LogicalType::String();
    const auto schema = std::static_pointer_cast<GroupNode>(
        GroupNode::Make("schema", Repetition::REQUIRED,
                        {PrimitiveNode::Make("id", Repetition::REQUIRED, Type::INT64),
                         PrimitiveNode::Make("text", Repetition::OPTIONAL, text, Type::BYTE_ARRAY),
                         PrimitiveNode::Make("tags", Repetition::REPEATED, text, Type::BYTE_ARRAY)}));
    auto out = arrow::io::FileOutputStream::Open(folder_ / name).ValueOrDie();
    auto writer = parquet::ParquetFileWriter::Open(
        out, schema, parquet::WriterProperties::Builder().compression(parquet::Compression::SNAPPY)->build());
    for (const Texts& rows : groups) {
      parquet::RowGroupWriter* group = writer->AppendRowGroup();
      auto* ids = static_cast<parquet::Int64Writer*>(group->NextColumn());
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(rows.size()); ++i)
        ids->WriteBatch(1, nullptr, nullptr, &i);
      auto* texts = static_cast<parquet::ByteArrayWriter*>(group->NextColumn());
      for (const auto& row : rows) {
        const std::int16_t level = row ? 1 : 0;
        const std::string kept = row.value_or("");
        const parquet::ByteArray value{std::string_view(kept)};
        texts->WriteBatch(1, &level, nullptr, row ? &value : nullptr);
      }
      auto* tags = static_cast<parquet::ByteArrayWriter*>(group->NextColumn());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::int16_t none = 0;
        tags->WriteBatch(1, &none, &none, nullptr);
      }
    }
    writer->Close();
  }
#endif
};

#ifdef OCTET_HAS_ARROW

TEST_F(Parquet, EachRowsTextIsADocumentWhateverTheChunks) {
  std::vector<Texts> groups(3);
  std::string expected;
  for (int i = 0; i < 1000; ++i) {
    const std::string text = fmt::format("row {} {}", i, std::string(static_cast<std::size_t>(i % 97), 'x'));
    groups[static_cast<std::size_t>(i) / 400].push_back(text);
    expected += text + '\0';
  }
  write("a.parquet", groups);
  for (const std::int64_t chunk : {1, 5000, 1 << 20}) {
    PrepareOptions o = options({"a.parquet"});
    o.chunk_bytes = chunk;
    EXPECT_EQ(prepare(o).counts.kept.documents, 1000);
    EXPECT_TRUE(tokens() == expected) << chunk;
  }
}

TEST_F(Parquet, RowsWithoutATextAreBroken) {
  write("a.parquet", {{"a", std::nullopt, "", "b\xE2\x82\xAC"}, {std::nullopt}});
  EXPECT_HAS(error_of([&] { prepare(options({"a.parquet"})); }),
             "a.parquet: row 1 (from 0): has no text as \"text\", but null; broken records: 1");
  PrepareOptions o = options({"a.parquet"});
  o.max_bad = 2;
  const PrepareReport report = prepare(o);
  EXPECT_EQ(tokens(), "a\0b\xE2\x82\xAC\0"s);
  EXPECT_EQ(report.counts.broken, 2);
  EXPECT_EQ(report.counts.empty_documents, 1);
}

TEST_F(Parquet, AColumnThatIsNotThereOrNoTextIsNamed) {
  write("a.parquet", {{"a"}});
  const auto refusal = [&](const std::string& field) {
    PrepareOptions o = options({"a.parquet"});
    o.field = field;
    return error_of([&] { prepare(o); });
  };
  EXPECT_HAS(refusal("body"), "has no column \"body\" (--field); its columns are id, text, tags");
  EXPECT_HAS(refusal("id"), "the column \"id\" is INT64; expected a text");
  EXPECT_HAS(refusal("tags"), "the column \"tags\" is a list of String; expected a text");
}

TEST_F(Parquet, ALongTextIsRefusedByItsRow) {
  write("a.parquet", {{"a", std::string(3000, 'x')}});
  PrepareOptions o = options({"a.parquet"});
  o.max_document = 2999;
  EXPECT_HAS(error_of([&] { prepare(o); }), "a.parquet: row 1 (from 0): is longer than --max-document 2.9 KiB");
  o.max_document = 3000;
  EXPECT_EQ(prepare(o).counts.kept.documents, 2);
}

TEST_F(Parquet, ADamagedFileIsOneErrorWithItsName) {
  write("a.parquet", {{"a", "b"}});
  const std::string whole = read_bytes(folder_ / "a.parquet");
  write_bytes(folder_ / "b.parquet", whole.substr(0, whole.size() - 9));
  EXPECT_HAS(error_of([&] { prepare(options({"b.parquet"})); }), "b.parquet: cannot be read as Parquet: ");
  std::string damaged = whole;
  for (std::size_t i = 5; i < 60; ++i) damaged[i] = '\xFF';
  write_bytes(folder_ / "c.parquet", damaged);
  EXPECT_HAS(error_of([&] { prepare(options({"c.parquet"})); }), "c.parquet: cannot be read as Parquet: ");
}

#else

TEST_F(Parquet, IsRefusedWithWhatToDo) {
  write_bytes(folder_ / "a.parquet", "PAR1 and more");
  EXPECT_HAS(error_of([&] { prepare(options({"a.parquet"})); }), "run jobs/install-arrow.sh and build again");
}

#endif

}  // namespace
}  // namespace octet
