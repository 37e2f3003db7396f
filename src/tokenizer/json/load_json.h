#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "src/tokenizer/tokenizer.h"
#include "src/tokenizer/tokenizer_options.h"

namespace octet {

/// The tokenizer of a tokenizer.json, whose text is given.
std::unique_ptr<Tokenizer> load_tokenizer_json(std::string_view text, const std::string& file,
                                               const TokenizerOptions& options);

}  // namespace octet
