#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "src/tokenizer/tokenizer.h"
#include "src/tokenizer/tokenizer_options.h"

namespace octet {

/// The tokenizer of a SentencePiece model, whose bytes are given, by SentencePiece's library: BPE and unigram, with its
/// normalizer, its dummy prefix and what it does with unknown characters. bos and eos are the model's own where the
/// user names no others, and its control pieces and the one for what is unknown are its special tokens. The library
/// takes text that spells a control piece for plain text, so that control_tokens is a usage error, as are other kinds
/// of models and damaged files.
std::unique_ptr<Tokenizer> load_sentencepiece(std::string_view bytes, const std::string& file,
                                              const TokenizerOptions& options);

}  // namespace octet
