#pragma once

#include <memory>
#include <optional>
#include <string>

#include "src/data/tokenizer_identity.h"
#include "src/tokenizer/make_tokenizer.h"

namespace octet {

/// The tokenizer `name` (as make_tokenizer has it) as it was when it made ids: with the bos, eos and added tokens that
/// `identity` (none: nothing is known) has kept of it, which its file need not say. Whoever opens the tokenizer of a
/// run or of data again does it here. A tokenizer of another file is made as if nothing were known: the caller
/// compares.
std::unique_ptr<Tokenizer> make_recorded_tokenizer(const std::string& name,
                                                   const std::optional<TokenizerIdentity>& identity,
                                                   bool control_tokens = false);

}  // namespace octet
