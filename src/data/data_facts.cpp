#include "src/data/data_facts.h"

#include <mutex>
#include <set>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/json_reader.h"
#include "src/base/log.h"
#include "src/base/replace_file.h"
#include "src/data/token_pair.h"

namespace octet {
namespace {

constexpr int format = 1;

/// Says whether that was not told before. A start reads a side file several times: for the range of ids, for the
/// tokenizer.
bool is_news(const std::string& what) {
  static std::mutex mutex;
  static std::set<std::string> told;
  const std::lock_guard lock(mutex);
  return told.insert(what).second;
}

nlohmann::ordered_json json_of(const TokenAt& token) {
  return {{"id", token.id}, {"position", token.position}};
}

TokenAt token_at(const JsonReader& json, std::int64_t tokens) {
  TokenAt token{.id = json.integer("id", INT32_MIN, INT32_MAX), .position = json.integer("position", 0, tokens - 1)};
  json.finish();
  return token;
}

/// What a side file says, by its text; `data` is a TokenFile, or a TokenPair of one.
template <typename Data>
std::optional<DataFacts> facts_in(const std::string& text, const std::string& path, const Data& data) {
  try {
    const nlohmann::json parsed = parse_json(text, "data", path, "what is known of token data");
    const JsonReader json(parsed, "data", path);
    static_cast<void>(json.integer("format", format, format));
    const bool same = json.text("fingerprint") == fmt::format("{:016x}", data.fingerprint());
    const std::int64_t tokens = json.integer("tokens", 0);
    if (!same || tokens != data.tokens()) {
      const std::string what = fmt::format("{}: is of other data than {} holds now", path, data.bin_path());
      if (is_news(what)) log::info("{}; it is not used", what);
      return std::nullopt;
    }
    DataFacts facts{
        .range = {.smallest = token_at(json.at("smallest"), tokens), .largest = token_at(json.at("largest"), tokens)}};
    if (json.contains("tokenizer")) facts.tokenizer = tokenizer_identity_of(json.at("tokenizer"));
    if (json.contains("text_bytes")) facts.text_bytes = json.integer("text_bytes", 0);
    json.finish();
    return facts;
  } catch (const Error& error) {
    if (is_news(error.what())) log::warning("{}; it is not used", error.what());
    return std::nullopt;
  }
}

/// What is known of all parts together, where it is of each.
std::optional<DataFacts> facts_of_parts(const TokenFile& file) {
  DataFacts all{.text_bytes = 0};
  std::int64_t before = 0;
  std::string first;
  for (const TokenPair& pair : file.pairs()) {
    if (pair.tokens() == 0) continue;
    const std::string path = data_facts_path(pair.prefix());
    const std::optional<std::string> text = read_text_file(path);
    const auto facts = text ? facts_in(*text, path, pair) : std::nullopt;
    if (!facts) return std::nullopt;
    TokenRange range = facts->range;
    range.smallest.position += before;
    range.largest.position += before;
    all.range.merge(range);
    if (first.empty()) all.tokenizer = facts->tokenizer;
    if (first.empty()) first = pair.prefix();
    if (facts->tokenizer != all.tokenizer) {
      throw usage_error("data", "{} and {} are parts of one data set, but of two tokenizers: {} and {}", first,
                        pair.prefix(), all.tokenizer ? text_of(*all.tokenizer) : "one that is not known",
                        facts->tokenizer ? text_of(*facts->tokenizer) : "one that is not known");
    }
    all.text_bytes =
        all.text_bytes && facts->text_bytes ? std::optional(*all.text_bytes + *facts->text_bytes) : std::nullopt;
    before += pair.tokens();
  }
  return all;
}

}  // namespace

std::string data_facts_path(const std::string& prefix) {
  return prefix + ".data.json";
}

std::string data_facts_json(const TokenFile& file, const DataFacts& facts) {
  nlohmann::ordered_json json = {{"format", format},
                                 {"fingerprint", fmt::format("{:016x}", file.fingerprint())},
                                 {"tokens", file.tokens()},
                                 {"smallest", json_of(facts.range.smallest)},
                                 {"largest", json_of(facts.range.largest)}};
  if (facts.tokenizer) json["tokenizer"] = json_of(*facts.tokenizer);
  if (facts.text_bytes) json["text_bytes"] = *facts.text_bytes;
  return json.dump() + "\n";
}

std::optional<DataFacts> read_data_facts(const std::string& path, const TokenFile& file) {
  const std::optional<std::string> text = read_text_file(path);
  if (file.tokens() == 0) return std::nullopt;
  // Parts that lie beside each other know each of itself, unless someone has remembered the whole.
  if (!text && file.pairs().size() > 1 && path == data_facts_path(file.prefix())) return facts_of_parts(file);
  return text ? facts_in(*text, path, file) : std::nullopt;
}

bool write_data_facts(const std::string& path, const TokenFile& file, const DataFacts& facts) {
  return replace_file(path, data_facts_json(file, facts));
}

}  // namespace octet
