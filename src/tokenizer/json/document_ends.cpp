#include "src/tokenizer/json/document_ends.h"

#include <array>
#include <filesystem>

#include "src/base/files.h"
#include "src/base/json_reader.h"
#include "src/base/log.h"

namespace octet {
namespace {

// As they are called by Llama 3, DeepSeek, GPT-2 and Llama 2, and those who took them over.
constexpr std::array begins = {"<|begin_of_text|>", "<\uFF5Cbegin\u2581of\u2581sentence\uFF5C>", "<s>"};
constexpr std::array ends = {"<|end_of_text|>", "<\uFF5Cend\u2581of\u2581sentence\uFF5C>", "<|endoftext|>", "</s>"};

/// Calls read(reader) where there is such a file beside the tokenizer's.
template <typename Read>
void with_neighbour(const std::string& file, const char* name, const Read& read) {
  const std::string path = (std::filesystem::path(file).parent_path() / name).string();
  if (!std::filesystem::exists(path)) return;
  const nlohmann::json json = parse_json(text_of_file("tokenizer", path), "tokenizer", path, "an object");
  read(JsonReader(json, "tokenizer", path));
}

/// "bos_token": a text, or an object with the text as "content".
void read_token(const JsonReader& config, const char* key, const IdOf& id_of, std::optional<std::int32_t>& id) {
  if (id || !config.has(key)) return;
  const JsonReader value = config.at(key).is_text() ? config.at(key) : config.at(key).at("content");
  id = id_of(value.text());
  if (!id) throw value.refuse("a token of the tokenizer beside it");
}

void read_id(const JsonReader& config, const char* key, const HasId& has_id, std::optional<std::int32_t>& id) {
  if (id || !config.has(key)) return;
  const JsonReader value = config.at(key);
  const JsonReader first = value.is_list() && value.size() > 0 ? value.element(0) : value;
  const auto said = static_cast<std::int32_t>(first.integer(std::int64_t{0}, INT32_MAX));
  if (has_id(said)) {
    id = said;
  } else {  // as where a model's file has stayed beside a tokenizer of one's own
    log::warning("{}; it is left out", first.refuse("the id of a token of the tokenizer beside it").what());
  }
}

template <typename Names>
void find_name(const Names& names, const IdOf& special, std::optional<std::int32_t>& id) {
  for (const char* name : names) {
    if (!id) id = special(name);
  }
}

void take_asked(const std::string& file, const char* option, const std::optional<std::string>& text, const IdOf& id_of,
                std::optional<std::int32_t>& id) {
  if (!text) return;
  id = id_of(*text);
  if (!id) throw usage_error("tokenizer", "{} \"{}\": {} has no such token", option, *text, file);
}

}  // namespace

DocumentEnds find_document_ends(const std::string& file, const TokenizerOptions& asked, DocumentEnds known,
                                const IdOf& id_of, const IdOf& special, const HasId& has_id) {
  take_asked(file, "bos", asked.bos, id_of, known.bos);
  take_asked(file, "eos", asked.eos, id_of, known.eos);
  with_neighbour(file, "tokenizer_config.json", [&](const JsonReader& config) {
    read_token(config, "bos_token", id_of, known.bos);
    read_token(config, "eos_token", id_of, known.eos);
  });
  with_neighbour(file, "generation_config.json", [&](const JsonReader& config) {
    read_id(config, "bos_token_id", has_id, known.bos);
    read_id(config, "eos_token_id", has_id, known.eos);
  });
  find_name(begins, special, known.bos);
  find_name(ends, special, known.eos);
  return known;
}

AddedEnds read_added_ends(const std::string& file) {
  AddedEnds added;
  with_neighbour(file, "tokenizer_config.json", [&](const JsonReader& config) {
    if (config.has("add_bos_token")) added.bos = config.boolean("add_bos_token");
    if (config.has("add_eos_token")) added.eos = config.boolean("add_eos_token");
  });
  return added;
}

}  // namespace octet
