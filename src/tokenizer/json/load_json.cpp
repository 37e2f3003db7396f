#include "src/tokenizer/json/load_json.h"

#include <xxhash.h>

#include <utility>

#include "src/tokenizer/json/tokenizer_json.h"
#include "src/tokenizer/recorded_tokens.h"

namespace octet {

std::unique_ptr<Tokenizer> load_tokenizer_json(std::string_view text, const std::string& file,
                                               const TokenizerOptions& options) {
  TokenizerJson json = read_tokenizer_json(text, file, options.control_tokens);
  TokenizerInfo info{.kind = "bpe", .path = file, .fingerprint = XXH3_64bits(text.data(), text.size())};
  info.vocab_size = json.parts.model.tokens.size();
  for (const AddedToken& token : json.parts.added) {
    if (token.special) info.special.push_back({token.text, token.id});
  }
  const auto id_of = [&](const std::string& token) {
    const auto found = json.ids.find(token);
    return found == json.ids.end() ? std::nullopt : std::optional(found->second);
  };
  const auto special = [&](const std::string& token) -> std::optional<std::int32_t> {
    for (const SpecialToken& one : info.special) {
      if (one.text == token) return one.id;
    }
    return std::nullopt;
  };
  const auto has_id = [&](std::int32_t id) { return json.parts.model.tokens.has(id); };
  const DocumentEnds ends = find_document_ends(file, options, json.ends, id_of, special, has_id);
  info.bos = ends.bos;
  info.eos = ends.eos;
  take_recorded_ends(options, info);
  info.adds_bos = json.ends.bos.has_value();
  info.adds_eos = json.ends.eos.has_value();
  return make_bpe_tokenizer(std::move(json.parts), std::move(info), options.control_tokens);
}

}  // namespace octet
