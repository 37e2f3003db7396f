#include "src/evaluate/tasks/dataset_file.h"

#include <xxhash.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "src/base/files.h"

namespace octet {

void read_dataset_text(std::string_view text, const std::string& path,
                       const std::function<void(const JsonReader& row, std::string_view text)>& read) {
  std::int64_t number = 0, rows = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string place = fmt::format("{}:{}", path, number);
    const nlohmann::json json = parse_json(line, "evaluate", place, "an object with the dataset's columns");
    if (!json.is_object()) throw usage_error("evaluate", "{}: expected an object with the dataset's columns", place);
    read(JsonReader(json, "evaluate", place), line);
    ++rows;
  }
  if (rows == 0) throw usage_error("evaluate", "{}: has no row; expected a JSON object a line", path);
}

std::uint64_t read_dataset_file(const std::string& path,
                                const std::function<void(const JsonReader& row, std::string_view text)>& read) {
  const auto text = read_text_file(path);
  if (!text) {
    const int reason = errno;
    const std::string parquet = std::filesystem::path(path).replace_extension(".parquet").string();
    if (std::filesystem::exists(parquet)) {
      throw usage_error("evaluate", "{}: Parquet is not read here; expected JSON lines, {}", parquet, path);
    }
    throw usage_error("evaluate", "{}: cannot be read: {}; expected a JSON object a line", path, std::strerror(reason));
  }
  read_dataset_text(*text, path, read);
  return XXH3_64bits(text->data(), text->size());
}

}  // namespace octet
