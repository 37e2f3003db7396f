#pragma once

#include <memory>
#include <vector>

#include "src/tokenizer/bpe/added_tokens.h"
#include "src/tokenizer/bpe/bpe_model.h"
#include "src/tokenizer/split/splitter.h"
#include "src/tokenizer/tokenizer.h"

namespace octet {

/// What a byte-level BPE tokenizer is made of, whatever file says so.
struct BpeParts {
  BpeModel model;  ///< its tokens have the added ones too
  std::vector<SplitStep> split;
  std::vector<AddedToken> added;
};

/// Text must be UTF-8. Added tokens are cut out first, special ones only with `control_tokens`.
std::unique_ptr<Tokenizer> make_bpe_tokenizer(BpeParts parts, TokenizerInfo info, bool control_tokens);

}  // namespace octet
