#pragma once

#include <memory>
#include <string>

#include "src/tokenizer/tokenizer.h"
#include "src/tokenizer/tokenizer_options.h"

namespace octet {

/// A tokenizer by name or by file; a usage error lists what is known.
///   bytes   the id is the byte (vocabulary 256). The end of a document is id 0, so text with a NUL byte is refused.
///   PATH    a tokenizer.json of Hugging Face's library with byte-level BPE, a rank file (.tiktoken, Llama 3's
///           tokenizer.model), a SentencePiece model, or a folder that has a tokenizer.json or else a tokenizer.model;
///           told by the content
/// Options are for files; bytes with any of them are a usage error.
std::unique_ptr<Tokenizer> make_tokenizer(const std::string& name, const TokenizerOptions& options = {});

}  // namespace octet
