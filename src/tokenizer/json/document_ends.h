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

/// Completes what a tokenizer's file itself says of them (`known`), after what the user asks for. From
/// tokenizer_config.json beside the file its bos_token and eos_token, else from a generation_config.json there
/// bos_token_id and eos_token_id (of several the first; an id that is no token's is told and left out), else the
/// special tokens of well-known names, which `special` has. A text that is no token's is a usage error.
DocumentEnds find_document_ends(const std::string& file, const TokenizerOptions& asked, DocumentEnds known,
                                const IdOf& id_of, const IdOf& special, const HasId& has_id);

/// What add_bos_token and add_eos_token of a tokenizer_config.json beside the file say. Hugging Face's library goes by
/// them where there is no tokenizer.json; of one it takes the post-processor and leaves them out (transformers 5.24).
struct AddedEnds {
  std::optional<bool> bos, eos;
};
AddedEnds read_added_ends(const std::string& file);

}  // namespace octet
