#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "src/tokenizer/tokenizer.h"
#include "src/tokenizer/tokenizer_options.h"

namespace octet {

/// Says whether one of a file's first three lines is that of a rank file.
bool is_rank_file(std::string_view text);

/// The tokenizer of a rank file, as tiktoken and Llama 3's tokenizer.model have it: lines of a token's bytes in base64,
/// a space and its rank, which is its id. Any two neighbours merge whose bytes together are a token; a word that is a
/// token is that. Such a file names neither pattern nor special tokens: those of an encoding that is known by its
/// number of ranks come with it (known_encodings.h). Others have the pattern of Llama 3, with a warning, and no special
/// tokens but the bos and eos that the user asks for, which get the next free ids, bos first. Usage error with file and
/// line for what is no such file, and for a byte that has no token.
std::unique_ptr<Tokenizer> load_rank_file(std::string_view text, const std::string& file,
                                          const TokenizerOptions& options);

}  // namespace octet
