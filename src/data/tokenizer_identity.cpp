#include "src/data/tokenizer_identity.h"

#include <xxhash.h>

#include "src/base/hex_text.h"

namespace octet {
namespace {

constexpr std::int64_t most_ids = std::int64_t{1} << 31;

nlohmann::ordered_json json_of(const std::optional<std::int64_t>& id) {
  return id ? nlohmann::ordered_json(*id) : nlohmann::ordered_json(nullptr);
}

}  // namespace

bool same_tokenizer(const TokenizerIdentity& a, const TokenizerIdentity& b) {
  return a.kind == b.kind && a.fingerprint == b.fingerprint;
}

std::string token_text(const TokenizerIdentity& tokenizer, const std::optional<std::int64_t>& id) {
  if (!id) return "no token";
  for (const auto& [name, its] : tokenizer.special) {
    if (its == *id) return fmt::format("{} (id {})", name, *id);
  }
  return fmt::format("the token of id {}", *id);
}

std::string tokenizer_difference(const TokenizerIdentity& a, const TokenizerIdentity& b) {
  if (!same_tokenizer(a, b)) return fmt::format("the tokenizer was {} and {}", text_of(a), text_of(b));
  if (a.bos != b.bos) {
    return fmt::format("what begins a document was {} and {}", token_text(a, a.bos), token_text(b, b.bos));
  }
  if (a.eos != b.eos) {
    return fmt::format("what ends a document was {} and {}", token_text(a, a.eos), token_text(b, b.eos));
  }
  if (a.vocab_size != b.vocab_size) return fmt::format("the tokenizer had {} and {} ids", a.vocab_size, b.vocab_size);
  return a.special == b.special ? "" : "the tokenizer's control tokens were not the same";
}

std::uint64_t tokenizer_fingerprint(std::string_view file_bytes) {
  return XXH3_64bits(file_bytes.data(), file_bytes.size());
}

std::string_view tokenizer_file_name(TokenizerKind kind) {
  switch (kind) {
    case TokenizerKind::bytes:
      return "";
    case TokenizerKind::bpe:
      return "tokenizer.json";
    case TokenizerKind::tiktoken:
      return "tokenizer.tiktoken";
    case TokenizerKind::sentencepiece:
      return "tokenizer.model";
  }
  throw internal_error("data", "a tokenizer of kind {}", static_cast<int>(kind));
}

std::string tokenizer_copy_path(const std::string& prefix, TokenizerKind kind) {
  const std::string_view name = tokenizer_file_name(kind);
  return name.empty() ? "" : fmt::format("{}.{}", prefix, name);
}

std::string text_of(const TokenizerIdentity& t) {
  if (t.kind == TokenizerKind::bytes) return fmt::format("bytes ({} ids)", t.vocab_size);
  return fmt::format("{} {} ({:016x}, {} ids)", t.kind, t.file, t.fingerprint, t.vocab_size);
}

nlohmann::ordered_json json_of(const TokenizerIdentity& t) {
  return {{"kind", name_of(t.kind)},
          {"file", t.file},
          {"fingerprint", hex_text(t.fingerprint)},
          {"vocab_size", t.vocab_size},
          {"bos", json_of(t.bos)},
          {"eos", json_of(t.eos)},
          {"special", nlohmann::ordered_json(t.special)}};
}

TokenizerIdentity tokenizer_identity_of(const JsonReader& json) {
  TokenizerIdentity t{.kind = json.choice<TokenizerKind>("kind"),
                      .file = json.text("file"),
                      .fingerprint = hex_of(json.at("fingerprint")),
                      .vocab_size = json.integer("vocab_size", 1, most_ids)};
  if (t.file.find('/') != std::string::npos) throw json.at("file").refuse("a file's name without folders");
  if (json.has("bos")) t.bos = json.integer("bos", 0, t.vocab_size - 1);
  if (json.has("eos")) t.eos = json.integer("eos", 0, t.vocab_size - 1);
  for (const auto& [name, id] : json.at("special").members())
    t.special[name] = id.integer(std::int64_t{0}, t.vocab_size - 1);
  json.finish();
  return t;
}

TokenizerIdentity read_tokenizer_identity(const std::string& text, const std::string& source) {
  const nlohmann::json json = parse_json(text, "data", source, "a tokenizer's identity");
  return tokenizer_identity_of(JsonReader(json, "data", source));
}

}  // namespace octet
