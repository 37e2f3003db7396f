#include "checkpoints/hugging_face_files.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "checkpoints/read_file.h"
#include "src/base/json_reader.h"

namespace octet::checkpoint {
namespace {

constexpr std::array tokenizers = {"tokenizer.json", "tokenizer.model"};

/// An id, a list of ids, or null.
std::vector<std::int64_t> ids_at(const JsonReader& json, const char* key) {
  if (!json.has(key)) return {};
  const JsonReader value = json.at(key);
  if (value.is_list()) return value.integers(0, INT32_MAX);
  return {value.integer(std::int64_t{0}, std::int64_t{INT32_MAX})};
}

}  // namespace

SpecialIds parse_special_ids(const std::string& text, const std::string& path) {
  const auto json = parse_json(text, "checkpoints", path, "a configuration of Hugging Face");
  const JsonReader reader(json, "checkpoints", path);
  SpecialIds ids{.bos = ids_at(reader, "bos_token_id"), .eos = ids_at(reader, "eos_token_id")};
  if (reader.has("pad_token_id")) ids.pad = reader.integer("pad_token_id", -1, INT32_MAX);  // -1: Llama 1 had none
  return ids;
}

SpecialIds read_special_ids(const std::string& path) {
  return parse_special_ids(read_file(path), path);
}

std::vector<PlainFile> files_beside(const std::string& folder) {
  std::vector<PlainFile> files;
  const auto add = [&](const std::string& name) {
    const std::string path = folder + "/" + name;
    std::error_code error;
    if (std::filesystem::exists(path, error)) files.push_back({name, read_file(path)});
  };
  for (const char* name : tokenizers) add(name);
  for (const char* name : tokenizer_companions) add(name);
  add(generation_config);
  const std::string config = folder + "/config.json";
  std::string text = read_file(config);
  if (!files.empty() || !parse_special_ids(text, config).empty()) files.push_back({kept_config, std::move(text)});
  return files;
}

bool has_tokenizer(const std::vector<std::string>& names) {
  return std::ranges::find_first_of(names, tokenizers) != names.end();
}

}  // namespace octet::checkpoint
