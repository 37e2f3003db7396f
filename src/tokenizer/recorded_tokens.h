#pragma once

#include "src/tokenizer/tokenizer.h"
#include "src/tokenizer/tokenizer_options.h"

namespace octet {

/// The record of the file of that fingerprint; null where there is none, or one of another file.
const RecordedTokens* recorded_of(const TokenizerOptions& options, std::uint64_t fingerprint);

/// Gives `info`, whose fingerprint and vocab_size are known, the bos and eos of its record. Ids that the vocabulary
/// lacks are left out.
void take_recorded_ends(const TokenizerOptions& options, TokenizerInfo& info);

}  // namespace octet
