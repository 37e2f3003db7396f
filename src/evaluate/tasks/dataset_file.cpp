#include "src/evaluate/tasks/dataset_file.h"

#include <xxhash.h>

#include <algorithm>
#include <filesystem>

#include "src/base/files.h"
#include "src/corpus/parquet_rows.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

/// Files of a folder named SPLIT-....parquet, by name; none where the folder is not there.
std::vector<std::string> pieces_in(const std::string& folder, std::string_view split) {
  std::vector<std::string> names;
  std::error_code unread;
  for (const auto& entry : fs::directory_iterator(folder, unread)) {
    std::string name = entry.path().filename().string();
    if (name.starts_with(fmt::format("{}-", split)) && name.ends_with(".parquet")) names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

std::vector<std::string> dataset_files(const std::string& folder, std::string_view split) {
  std::vector<std::string> found;
  for (const char* ending : {"jsonl", "parquet"}) {
    std::error_code unread;
    std::string path = fmt::format("{}/{}.{}", folder, split, ending);
    if (fs::exists(path, unread)) found.push_back(std::move(path));
  }
  const std::vector<std::string> pieces = pieces_in(folder, split);
  if (found.size() + (pieces.empty() ? 0 : 1) > 1) {
    throw usage_error("evaluate", "{} and {}/{} are both there; expected one of them", found[0], folder,
                      pieces.empty() ? fs::path(found[1]).filename().string() : pieces[0]);
  }
  if (found.empty() && pieces.empty()) {
    throw usage_error("evaluate",
                      "{0}/{1}.jsonl: is not there, nor is {1}.parquet or {1}-00000-of-00001.parquet; expected one of "
                      "them",
                      folder, split);
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::string expected = fmt::format("{}-{:05}-of-{:05}", split, i, pieces.size());
    if (!pieces[i].starts_with(expected)) {
      throw usage_error("evaluate", "{}/{}: expected {}.parquet in its place; is a piece missing?", folder, pieces[i],
                        expected);
    }
    found.push_back(folder + "/" + pieces[i]);
  }
  return found;
}

void read_dataset_text(std::string_view text, const std::string& path, const TakeRow& take) {
  std::int64_t number = 0, rows = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string place = fmt::format("{}:{}", path, number);
    const nlohmann::json json = parse_json(line, "evaluate", place, "an object with the dataset's columns");
    if (!json.is_object()) throw usage_error("evaluate", "{}: expected an object with the dataset's columns", place);
    take(JsonReader(json, "evaluate", place), json);
    ++rows;
  }
  if (rows == 0) throw usage_error("evaluate", "{}: has no row; expected a JSON object a line", path);
}

void read_dataset_parquet(std::string_view bytes, const std::string& path, const TakeRow& take) {
  std::int64_t rows = 0;
  read_parquet_rows(bytes, path, "evaluate", [&](std::int64_t number, const nlohmann::json& json) {
    take(JsonReader(json, "evaluate", fmt::format("{}: row {} (from 0)", path, number)), json);
    ++rows;
  });
  if (rows == 0) throw usage_error("evaluate", "{}: has no row; expected the dataset's", path);
}

std::uint64_t read_dataset_file(const std::string& path, const TakeRow& take) {
  const std::string text = given_text("evaluate", path, "a JSON object a line, or Parquet by its name");
  (path.ends_with(".parquet") ? read_dataset_parquet : read_dataset_text)(text, path, take);
  return XXH3_64bits(text.data(), text.size());
}

}  // namespace octet
