#include "src/tokenizer/json/tokenizer_json.h"

#include "src/base/json_reader.h"
#include "src/tokenizer/json/json_sections.h"

namespace octet {
namespace {

/// For keys that are supported only with the value null.
void expect_null(const JsonReader& file, const char* key, const char* what) {
  if (file.has(key)) throw file.at(key).refuse(what);
}

/// An empty Sequence, as in DeepSeek's files, counts as no normalizer.
void check_normalizer(const JsonReader& file) {
  const JsonReader normalizer = file.at("normalizer");
  const bool none = file.has("normalizer") && normalizer.contains("normalizers") &&
                    normalizer.text("type") == "Sequence" && normalizer.list("normalizers").empty();
  if (!none) expect_null(file, "normalizer", "null: text is taken as it is");
}

void check_decoder(const JsonReader& decoder) {
  if (!decoder.is_there() || decoder.is_null()) return;
  if (decoder.text("type") != "ByteLevel") throw decoder.at("type").refuse("ByteLevel");
}

}  // namespace

TokenizerJson read_tokenizer_json(std::string_view text, const std::string& file_name, bool control_tokens) {
  const nlohmann::json json = parse_json(text, "tokenizer", file_name, "a tokenizer.json of Hugging Face's tokenizers");
  const JsonReader file(json, "tokenizer", file_name);
  // transformers sets both anew at each call, and saves what the last one had.
  expect_null(file, "truncation", "null, to which you can set it: texts are taken whole");
  expect_null(file, "padding", "null, to which you can set it: texts are not padded");
  check_normalizer(file);
  check_decoder(file.at("decoder"));
  if (!file.has("model") && file.has("config") && file.at("vocab").is_list()) {
    throw file.at("model").refuse("an object: this is a tekken.json of Mistral, not a tokenizer.json");
  }
  TokenizerJson out;
  out.parts.model = read_bpe_model(file.at("model"), out.ids);
  out.parts.added = read_added_tokens(file.at("added_tokens"), out.ids, control_tokens, out.parts.model.tokens);
  for (const AddedToken& token : out.parts.added) out.ids.emplace(token.text, token.id);
  out.parts.split = read_split(file.at("pre_tokenizer"));
  out.ends = read_surroundings(file.at("post_processor"), out.parts.model.tokens);
  return out;
}

}  // namespace octet
