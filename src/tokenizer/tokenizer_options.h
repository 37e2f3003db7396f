#pragma once

#include <optional>
#include <string>

namespace octet {

/// What a user may say of a tokenizer that is read from a file.
struct TokenizerOptions {
  bool control_tokens = false;       ///< text that spells a special token is that token, not plain text
  std::optional<std::string> bos{};  ///< the token that may stand before a document, instead of what the file says
  std::optional<std::string> eos{};  ///< likewise behind one
};

}  // namespace octet
