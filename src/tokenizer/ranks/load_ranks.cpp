#include "src/tokenizer/ranks/load_ranks.h"

#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/tokenizer/bpe/bpe_tokenizer.h"
#include "src/tokenizer/pattern/oniguruma_syntax.h"
#include "src/tokenizer/ranks/base64.h"
#include "src/tokenizer/ranks/known_encodings.h"
#include "src/tokenizer/recorded_tokens.h"

namespace octet {
namespace {

constexpr std::int32_t largest_rank = (1 << 24) - 1;
constexpr std::size_t longest_token = 1024;  // those of OpenAI and Meta have 128 bytes at most

struct RankLine {
  std::string bytes;
  std::int32_t rank = 0;
};

std::optional<RankLine> read_line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos || space == 0) return std::nullopt;
  auto bytes = base64_bytes(line.substr(0, space));
  if (!bytes || bytes->empty() || bytes->size() > longest_token) return std::nullopt;
  RankLine out{.bytes = std::move(*bytes)};
  const char* end = line.data() + line.size();
  const auto [read, error] = std::from_chars(line.data() + space + 1, end, out.rank);
  if (error != std::errc() || read != end || out.rank < 0 || out.rank > largest_rank) return std::nullopt;
  return out;
}

std::int32_t read_ranks(std::string_view text, const std::string& file, TokenTable& tokens) {
  std::int32_t count = 0;
  std::int64_t number = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    ++number;
    if (line.empty() || line == "\r") continue;
    const auto entry = read_line(line);
    if (!entry) {
      throw usage_error("tokenizer", "{}:{}: expected base64 of at most {} bytes, a space and a rank of 0 to {}", file,
                        number, longest_token, largest_rank);
    }
    if (!tokens.add(entry->rank, entry->bytes)) {
      throw usage_error("tokenizer", "{}:{}: rank {} or its bytes stand in a line before; expected each once", file,
                        number, entry->rank);
    }
    ++count;
  }
  return count;
}

void find_bytes(const std::string& file, BpeModel& model) {
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const auto id = model.tokens.find(std::string(1, static_cast<char>(byte)));
    if (!id) throw usage_error("tokenizer", "{}: byte {} has no rank; expected one for each byte", file, byte);
    model.byte_ids[byte] = *id;
  }
}

/// All pairs of tokens that are a token together. A token has its rank however it is put together.
void find_merges(BpeModel& model) {
  for (std::int32_t id = 0; id < model.tokens.size(); ++id) {
    if (!model.tokens.has(id)) continue;
    const std::string_view bytes = model.tokens.bytes(id);
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
      const auto left = model.tokens.find(bytes.substr(0, cut));
      if (!left) continue;
      const auto right = model.tokens.find(bytes.substr(cut));
      if (right) model.merges.add(*left, *right, static_cast<std::uint32_t>(id), id);
    }
  }
}

SplitStep split_of(const KnownEncoding& known) {
  if (known.pattern.empty()) return {.kind = SplitStep::Kind::llama3};
  std::string refused;
  SplitStep step{.kind = SplitStep::Kind::pattern};
  step.pattern = CompiledPattern::compile(translate_oniguruma(known.pattern).pcre2, refused);
  if (!step.pattern) throw internal_error("tokenizer", "PCRE2 refuses the pattern of {}: {}", known.name, refused);
  return step;
}

/// The special token of that text, which is made where it is none yet.
std::optional<std::int32_t> named(const std::optional<std::string>& text, const char* option, BpeParts& parts) {
  if (!text) return std::nullopt;
  if (text->empty()) throw usage_error("tokenizer", "{} is empty; expected the text of a token", option);
  for (const AddedToken& token : parts.added) {
    if (token.text == *text) return token.id;
  }
  const std::int32_t id = parts.model.tokens.size();
  parts.model.tokens.add_named(id, *text);
  parts.added.push_back({.text = *text, .id = id, .special = true});
  return id;
}

/// The tokens that were named when the file was used before. They got the next free ids, one after the other.
void add_recorded(const RecordedTokens& recorded, BpeParts& parts) {
  std::map<std::int64_t, std::string> by_id;
  for (const auto& [text, id] : recorded.special) by_id[id] = text;
  for (const auto& [id, text] : by_id) {
    if (id == parts.model.tokens.size()) named(text, "a recorded token", parts);
  }
}

}  // namespace

bool is_rank_file(std::string_view text) {
  for (int lines = 0; lines < 3 && !text.empty(); ++lines) {  // one may be broken
    const std::string_view line = text.substr(0, text.find('\n'));
    if (read_line(line)) return true;
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return false;
}

std::unique_ptr<Tokenizer> load_rank_file(std::string_view text, const std::string& file,
                                          const TokenizerOptions& options) {
  BpeParts parts;
  const std::int32_t count = read_ranks(text, file, parts.model.tokens);
  find_bytes(file, parts.model);
  find_merges(parts.model);
  parts.model.whole_first = true;
  TokenizerInfo info{.kind = "tiktoken", .path = file, .fingerprint = XXH3_64bits(text.data(), text.size())};
  const auto known = known_encoding(count, parts.model.tokens.size());
  parts.split.push_back(known ? split_of(*known) : SplitStep());
  if (known) {
    for (const SpecialToken& token : known->special) {
      if (!parts.model.tokens.add_named(token.id, token.text)) {
        throw usage_error("tokenizer", "{}: rank {} is that of {} in {}, which has as many ranks; expected it free",
                          file, token.id, token.text, known->name);
      }
      parts.added.push_back({.text = token.text, .id = token.id, .special = true});
    }
    info.bos = known->bos;
    info.eos = known->eos;
  }
  const auto* recorded = recorded_of(options, info.fingerprint);
  if (recorded != nullptr) add_recorded(*recorded, parts);
  // What is recorded was encoded so, which its maker was told.
  if (!known && recorded == nullptr) {
    log::warning(
        "{}: no encoding of {} ranks is known; text is cut into words by the pattern of Llama 3, and where the "
        "encoding has another, ids differ from those of its own library (a tokenizer.json says its pattern)",
        file, count);
  }
  if (options.bos) info.bos = named(options.bos, "bos", parts);
  if (options.eos) info.eos = named(options.eos, "eos", parts);
  info.vocab_size = parts.model.tokens.size();
  take_recorded_ends(options, info);
  info.adds_bos = info.bos.has_value();  // as Llama 3's own code and its tokenizer.json do
  for (const AddedToken& token : parts.added) info.special.push_back({token.text, token.id});
  return make_bpe_tokenizer(std::move(parts), std::move(info), options.control_tokens);
}

}  // namespace octet
