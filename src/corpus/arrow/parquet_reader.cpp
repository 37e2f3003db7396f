#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include <algorithm>
#include <array>

#include "src/base/error.h"
#include "src/corpus/arrow/readable.h"
#include "src/corpus/chunk_reader.h"

namespace octet {
namespace {

constexpr int rows_at_once = 64;

/// Reads by the library's lower interface, whose values lie in the decoded pages: a column of long texts never stands
/// in memory as a whole, however well it was packed.
class ParquetReader final : public ChunkReader {
 public:
  ParquetReader(const InputUnit& unit, const ReaderOptions& options) : unit_(unit), options_(options) {
    readable("corpus", unit_.path, [&] {
      parquet::ReaderProperties properties;
      properties.enable_buffered_stream();
      file_ = parquet::ParquetFileReader::OpenFile(unit_.path, false, properties);
      column_ = find_column(*file_->metadata()->schema());
    });
  }

  bool next(Chunk& chunk) override {
    return readable("corpus", unit_.path, [&] {
      chunk.records = Records::rows;
      const auto chunk_bytes = static_cast<std::size_t>(options_.chunk_bytes);
      while (chunk.size() < chunk_bytes && chunk.pieces.size() < chunk_bytes / 64 + 1) {
        if (!column_reader_ || !column_reader_->HasNext()) {
          if (!next_group()) break;
          continue;
        }
        read_rows(chunk);
      }
      return !chunk.pieces.empty() || chunk.lacking > 0;
    });
  }

  std::int64_t used() const override {
    const double rows = static_cast<double>(std::max<std::int64_t>(file_->metadata()->num_rows(), 1));
    return static_cast<std::int64_t>(static_cast<double>(unit_.end) * (static_cast<double>(row_) / rows));
  }

 private:
  int find_column(const parquet::SchemaDescriptor& schema) {
    std::string names;
    for (int i = 0; i < schema.num_columns(); ++i) {
      const parquet::ColumnDescriptor& column = *schema.Column(i);
      const std::string name = column.path()->ToDotString();
      names += (i == 0 ? "" : ", ") + name;
      if (name != options_.field) continue;
      const bool is_text = column.physical_type() == parquet::Type::BYTE_ARRAY && column.logical_type()->is_string();
      if (!is_text || column.max_repetition_level() > 0) {
        const std::string type = column.logical_type()->is_none() ? parquet::TypeToString(column.physical_type())
                                                                  : column.logical_type()->ToString();
        throw usage_error("corpus", "{}: the column \"{}\" is {}{}; expected a text", unit_.path, name,
                          column.max_repetition_level() > 0 ? "a list of " : "", type);
      }
      nulls_below_ = column.max_definition_level();
      return i;
    }
    throw usage_error("corpus", "{}: has no column \"{}\" (--field); its columns are {}", unit_.path, options_.field,
                      names);
  }

  bool next_group() {
    if (group_ == file_->metadata()->num_row_groups()) return false;
    column_reader_ = std::static_pointer_cast<parquet::ByteArrayReader>(file_->RowGroup(group_++)->Column(column_));
    return true;
  }

  void read_rows(Chunk& chunk) {
    std::array<std::int16_t, rows_at_once> levels{};
    std::array<parquet::ByteArray, rows_at_once> values;
    std::int64_t count = 0;
    const std::int64_t rows = column_reader_->ReadBatch(rows_at_once, levels.data(), nullptr, values.data(), &count);
    for (std::int64_t i = 0, value = 0; i < rows; ++i, ++row_) {
      if (nulls_below_ > 0 && levels[static_cast<std::size_t>(i)] < nulls_below_) {
        if (chunk.lacking++ == 0) chunk.lacking_row = row_;
        continue;
      }
      const parquet::ByteArray& text = values[static_cast<std::size_t>(value++)];
      // A text that is longer than max_document is taken only so far that it is seen to be too long.
      const auto most = static_cast<std::uint64_t>(options_.max_document) + 1;
      const std::size_t bytes = std::min<std::uint64_t>(text.len, most);
      chunk.pieces.push_back({chunk.size(), bytes, true, true, row_});
      chunk.append({reinterpret_cast<const char*>(text.ptr), bytes});
    }
  }

  InputUnit unit_;
  ReaderOptions options_;
  std::unique_ptr<parquet::ParquetFileReader> file_{};
  std::shared_ptr<parquet::ByteArrayReader> column_reader_{};
  int column_ = 0;
  int group_ = 0;  ///< that comes next
  int nulls_below_ = 0;
  std::int64_t row_ = 0;
};

}  // namespace

std::unique_ptr<ChunkReader> read_parquet(const InputUnit& unit, const ReaderOptions& options) {
  return std::make_unique<ParquetReader>(unit, options);
}

}  // namespace octet
