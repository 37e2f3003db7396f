#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/base/json_reader.h"
#include "src/tokenizer/bpe/bpe_tokenizer.h"
#include "src/tokenizer/json/document_ends.h"

namespace octet {

// The sections of a tokenizer.json. All throw a usage error for what is asked for and not done here.

/// Ids by the texts of the vocabulary as the file has them; most of these spell bytes (byte_alphabet.h).
using SpelledIds = std::unordered_map<std::string, std::int32_t>;

/// "model": byte-level BPE. Fills `ids` too.
BpeModel read_bpe_model(const JsonReader& model, SpelledIds& ids);

/// "added_tokens". Those that the vocabulary does not have are added to the tokens.
std::vector<AddedToken> read_added_tokens(const JsonReader& list, const SpelledIds& vocabulary, bool control_tokens,
                                          TokenTable& tokens);

/// "pre_tokenizer", which must end by mapping bytes to characters.
std::vector<SplitStep> read_split(const JsonReader& pre_tokenizer);

/// "post_processor": the tokens that it puts around a text.
DocumentEnds read_surroundings(const JsonReader& post_processor, const TokenTable& tokens);

}  // namespace octet
