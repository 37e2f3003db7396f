#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "src/tokenizer/tokenizer_options.h"

namespace octet {

/// The tokens that may stand before and behind a document.
struct DocumentEnds {
  std::optional<std::int32_t> bos;
  std::optional<std::int32_t> eos;
};

/// The id of a token by its text, if there is one.
using IdOf = std::function<std::optional<std::int32_t>(const std::string&)>;
/// Whether a token has the id.
using HasId = std::function<bool(std::int32_t)>;

/// Finds the tokens that begin and end a document. First comes what the user asks for, then what the tokenizer's file
/// itself says (`known`), then bos_token and eos_token of a tokenizer_config.json beside the file, then bos_token_id
/// and eos_token_id of a generation_config.json there (the first of several; an id that is no token's is logged and
/// left out), then special tokens with well-known names, which `special` finds. A text that is no token's is a usage
/// error.
DocumentEnds find_document_ends(const std::string& file, const TokenizerOptions& asked, DocumentEnds known,
                                const IdOf& id_of, const IdOf& special, const HasId& has_id);

/// What add_bos_token and add_eos_token of a tokenizer_config.json beside the file say. Hugging Face's library goes by
/// them where there is no tokenizer.json; of one it takes the post-processor and leaves them out (transformers 5.24).
struct AddedEnds {
  std::optional<bool> bos, eos;
};
AddedEnds read_added_ends(const std::string& file);

}  // namespace octet
