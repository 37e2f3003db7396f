#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace octet {

/// What was written down of a tokenizer when it made token ids, where its file need not say it: `octet prepare` may
/// have been told what ends a document.
struct RecordedTokens {
  std::uint64_t fingerprint = 0;             ///< of the file that is meant; a tokenizer of another one takes nothing
  std::optional<std::int32_t> bos{}, eos{};  ///< none: what the file says
  std::map<std::string, std::int64_t> special{};  ///< by name; a rank file gets those that lie behind its ranks
};

/// What a user may say of a tokenizer that is read from a file, and what is known of it from before.
struct TokenizerOptions {
  bool control_tokens = false;       ///< text that spells a special token is that token, not plain text
  std::optional<std::string> bos{};  ///< the token that may stand before a document, instead of what the file says
  std::optional<std::string> eos{};  ///< likewise behind one
  std::optional<RecordedTokens> recorded{};  ///< goes before all that is said otherwise
};

}  // namespace octet
