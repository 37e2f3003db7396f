#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/json_reader.h"
#include "src/base/named_enum.h"

namespace octet {

enum class TokenizerKind : std::uint8_t { bytes, bpe, tiktoken, sentencepiece };
constexpr auto names_of(TokenizerKind) {
  return std::to_array<std::string_view>({"bytes", "bpe", "tiktoken", "sentencepiece"});
}

/// Which tokenizer made token ids: what the side file of data, a run, its checkpoints and exports keep of it.
struct TokenizerIdentity {
  TokenizerKind kind = TokenizerKind::bytes;
  std::string file{};             ///< its name, without folders, as `octet prepare` was given it; empty for bytes
  std::uint64_t fingerprint = 0;  ///< tokenizer_fingerprint of that file; 0 for bytes
  std::int64_t vocab_size = 0;    ///< ids are below this
  std::optional<std::int64_t> bos{}, eos{};       ///< what documents begin and end with, where they do
  std::map<std::string, std::int64_t> special{};  ///< control tokens by name

  bool operator==(const TokenizerIdentity&) const = default;
};

/// Says whether both turn a text into the same ids. Where a file lay does not count, nor what ends a document, which
/// may be a token more than the file has.
bool same_tokenizer(const TokenizerIdentity& a, const TokenizerIdentity& b);

/// What differs between the tokenizers, in that order, for messages: "what ends a document was </s> (id 2) and no
/// token". Empty where nothing does; the file's name does not count.
std::string tokenizer_difference(const TokenizerIdentity& a, const TokenizerIdentity& b);

/// XXH3-64 of all bytes of a tokenizer's file.
std::uint64_t tokenizer_fingerprint(std::string_view file_bytes);

/// "tokenizer.json", "tokenizer.tiktoken" or "tokenizer.model"; empty for bytes, which have no file.
std::string_view tokenizer_file_name(TokenizerKind kind);
/// Where the copy of the tokenizer's file stands beside the data PREFIX.bin: PREFIX.tokenizer.json and so on. Empty for
/// bytes.
std::string tokenizer_copy_path(const std::string& prefix, TokenizerKind kind);

/// "bpe tokenizer.json (0123456789abcdef, 128256 ids)", for messages and logs.
std::string text_of(const TokenizerIdentity& tokenizer);

/// "</s> (id 2)", "the token of id 2" where its name is not known, "no token" for none: for messages.
std::string token_text(const TokenizerIdentity& tokenizer, const std::optional<std::int64_t>& id);

/// The block `tokenizer` of a side file, a run's record and a checkpoint's manifest.
nlohmann::ordered_json json_of(const TokenizerIdentity& tokenizer);
/// Reads that block. Usage error that names the file and the key of what is not as expected.
TokenizerIdentity tokenizer_identity_of(const JsonReader& json);
/// Reads it from the text of such a block; `source` names that in messages.
TokenizerIdentity read_tokenizer_identity(const std::string& text, const std::string& source);

}  // namespace octet
