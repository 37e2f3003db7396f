#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "src/tokenizer/bpe/bpe_tokenizer.h"
#include "src/tokenizer/json/document_ends.h"

namespace octet {

struct TokenizerJson {
  BpeParts parts;
  DocumentEnds ends;                                    ///< what the post-processor puts around a text
  std::unordered_map<std::string, std::int32_t> ids{};  ///< all tokens, as the file spells them
};

/// Reads the text of a tokenizer.json of Hugging Face's library, which must ask for byte-level BPE. What is asked for
/// and not done here is a usage error with file, key, value and what was expected. Flags of special tokens matter with
/// `control_tokens` alone.
TokenizerJson read_tokenizer_json(std::string_view text, const std::string& file, bool control_tokens);

}  // namespace octet
