#include "checkpoints/hugging_face/hugging_face_files.h"

#include <algorithm>
#include <utility>

#include "src/base/json_reader.h"
#include "src/base/lfs_pointer.h"
#include "src/base/read_file.h"

namespace octet::checkpoint {
namespace {

constexpr std::array tokenizers = {"tokenizer.json", "tokenizer.model"};

/// An id, a list of ids, or null.
std::vector<std::int64_t> ids_at(const JsonReader& json, const char* key, std::int64_t most) {
  if (!json.has(key)) return {};
  const JsonReader value = json.at(key);
  if (value.is_list()) return value.integers(0, most);
  return {value.integer(std::int64_t{0}, most)};
}

SpecialIds ids_of(const JsonReader& json, std::int64_t most) {
  SpecialIds ids{.bos = ids_at(json, "bos_token_id", most), .eos = ids_at(json, "eos_token_id", most)};
  if (json.has("pad_token_id")) ids.pad = json.integer("pad_token_id", -1, most);  // -1: Llama 1 had none
  return ids;
}

/// Those of a config.json that says how many ids there are.
SpecialIds ids_within_vocabulary(const std::string& text, const std::string& path) {
  const auto json = parse_json(text, "checkpoints", path, "a configuration of Hugging Face");
  const JsonReader reader(json, "checkpoints", path);
  return ids_of(reader, reader.integer("vocab_size", 1, INT32_MAX) - 1);
}

}  // namespace

SpecialIds parse_special_ids(const std::string& text, const std::string& path) {
  const auto json = parse_json(text, "checkpoints", path, "a configuration of Hugging Face");
  return ids_of(JsonReader(json, "checkpoints", path), INT32_MAX);
}

SpecialIds read_special_ids(const std::string& path) {
  return parse_special_ids(files::read_file(path), path);
}

std::vector<PlainFile> files_beside(const std::string& folder) {
  std::vector<PlainFile> files;
  const auto add = [&](const std::string& name) {
    const std::string path = folder + "/" + name;
    if (!files::is_there(path)) return;
    files.push_back({name, files::read_file(path)});
    refuse_lfs_pointer(files.back().bytes, "checkpoints", path);
  };
  for (const char* name : tokenizers) add(name);
  for (const char* name : tokenizer_companions) add(name);
  add(generation_config);
  const std::string config = folder + "/config.json";
  std::string text = files::read_file(config);
  const bool has_ids = !ids_within_vocabulary(text, config).empty();  // looked at in any case: an export reads them
  if (has_ids || !files.empty()) files.push_back({kept_config, std::move(text)});
  return files;
}

bool has_tokenizer(const std::vector<std::string>& names) {
  return std::ranges::find_first_of(names, tokenizers) != names.end();
}

}  // namespace octet::checkpoint
