#include "src/corpus/parquet_rows.h"

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <arrow/visit_scalar_inline.h>
#include <parquet/arrow/reader.h>

#include <optional>
#include <type_traits>
#include <vector>

#include "src/corpus/arrow/readable.h"

namespace octet {
namespace {

using nlohmann::json;

constexpr std::int64_t rows_at_once = 256;

void expect(const arrow::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}
template <typename T>
T expect(arrow::Result<T> result) {
  expect(result.status());
  return std::move(result).ValueUnsafe();
}

json json_of(const arrow::Scalar& value);

json list_of(const arrow::Array& values) {
  json list = json::array();
  for (std::int64_t i = 0; i < values.length(); ++i) list.push_back(json_of(*expect(values.GetScalar(i))));
  return list;
}

/// Two columns of one name are refused, as a key that stands twice in an object of JSONL.
void put(json& object, const std::string& name, json value) {
  if (!object.emplace(name, std::move(value)).second) throw std::runtime_error("two columns are named " + name);
}

// NOLINTNEXTLINE(bugprone-exception-escape): moving JSON does not throw
struct ToJson {
  json value{};

  template <typename S>
  arrow::Status Visit(const S& scalar) {
    using Type = typename S::TypeClass;
    constexpr bool text = arrow::is_string_type<Type>::value || std::is_same_v<Type, arrow::StringViewType>;
    constexpr bool number = arrow::is_integer_type<Type>::value || std::is_same_v<Type, arrow::FloatType> ||
                            std::is_same_v<Type, arrow::DoubleType>;
    if constexpr (text) {
      value = std::string(scalar.view());
    } else if constexpr (number || std::is_same_v<Type, arrow::BooleanType>) {
      value = scalar.value;
    } else if constexpr (std::is_base_of_v<arrow::BaseListScalar, S>) {
      value = list_of(*scalar.value);
    } else if constexpr (std::is_same_v<S, arrow::StructScalar>) {
      value = json::object();
      const auto& type = static_cast<const arrow::StructType&>(*scalar.type);
      for (int i = 0; i < type.num_fields(); ++i) {
        put(value, type.field(i)->name(), json_of(*scalar.value[static_cast<std::size_t>(i)]));
      }
    } else if constexpr (std::is_same_v<S, arrow::DictionaryScalar>) {
      value = json_of(*expect(scalar.GetEncodedValue()));
    } else {
      value = {{scalar.type->ToString(), scalar.ToString()}};
    }
    return arrow::Status::OK();
  }
};

json json_of(const arrow::Scalar& value) {
  if (!value.is_valid) return nullptr;
  ToJson visitor;
  expect(arrow::VisitScalarInline(value, &visitor));
  return std::move(visitor.value);
}

/// Some rows at once, since a row group may be all of a file.
class RowReader {
 public:
  explicit RowReader(std::string_view bytes) {
    parquet::arrow::FileReaderBuilder builder;
    expect(builder.Open(std::make_shared<arrow::io::BufferReader>(std::make_shared<arrow::Buffer>(bytes))));
    parquet::ArrowReaderProperties properties;
    properties.set_batch_size(rows_at_once);
    file_ = expect(builder.properties(properties)->Build());
    batches_ = expect(file_->GetRecordBatchReader());
  }

  /// Nothing at the end.
  std::optional<std::vector<json>> next() {
    const std::shared_ptr<arrow::RecordBatch> batch = expect(batches_->Next());
    if (!batch) return std::nullopt;
    expect(batch->ValidateFull());  // that texts are UTF-8, too
    std::vector<json> rows(static_cast<std::size_t>(batch->num_rows()), json::object());
    for (int column = 0; column < batch->num_columns(); ++column) {
      const arrow::Array& values = *batch->column(column);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        put(rows[i], batch->column_name(column), json_of(*expect(values.GetScalar(static_cast<std::int64_t>(i)))));
      }
    }
    return rows;
  }

 private:
  std::unique_ptr<parquet::arrow::FileReader> file_{};
  std::shared_ptr<arrow::RecordBatchReader> batches_{};
};

}  // namespace

void read_parquet_rows(std::string_view bytes, const std::string& path, std::string_view room,
                       const std::function<void(std::int64_t, const json&)>& read) {
  RowReader reader = readable(room, path, [&] { return RowReader(bytes); });
  std::int64_t number = 0;
  while (const auto rows = readable(room, path, [&] { return reader.next(); })) {
    for (const json& row : *rows) read(number++, row);
  }
}

}  // namespace octet
