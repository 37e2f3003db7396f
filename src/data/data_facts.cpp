#include "src/data/data_facts.h"

#include <cmath>
#include <mutex>
#include <set>
#include <utility>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/hex_text.h"
#include "src/base/json_reader.h"
#include "src/base/log.h"
#include "src/base/replace_file.h"
#include "src/data/token_pair.h"
#include "src/data/token_sum.h"

namespace octet {
namespace {

constexpr int format = 1;
constexpr const char* and_read_of_parts = "(docs/problems.md, \"Parts of one data set do not belong together\")";

/// Whether `what` has not been told yet. A start reads a side file several times, for the range of ids and for the
/// tokenizer, and is to tell what is wrong with it once.
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

DataRecord record_in(const JsonReader& json) {
  static_cast<void>(json.integer("format", format, format));
  DataRecord record{.fingerprint = hex_of(json.at("fingerprint")), .tokens = json.integer("tokens", 0)};
  if (json.contains("made")) record.origin = data_origin_of(json.at("made"));
  if (json.contains("content")) record.content = hex_of(json.at("content"));
  return record;
}

/// What a side file says, by its text; `data` is a TokenFile, or a TokenPair of one.
template <typename Data>
std::optional<DataFacts> facts_in(const std::string& text, const std::string& path, const Data& data) {
  try {
    const nlohmann::json parsed = parse_json(text, "data", path, "what is known of token data");
    const JsonReader json(parsed, "data", path);
    DataRecord record = record_in(json);
    const std::int64_t tokens = record.tokens;
    if (record.fingerprint != data.fingerprint() || tokens != data.tokens()) {
      const std::string what = fmt::format("{}: is of other data than {} holds now", path, data.bin_path());
      if (is_news(what)) log::info("{}; it is not used", what);
      return std::nullopt;
    }
    DataFacts facts{
        .range = {.smallest = token_at(json.at("smallest"), tokens), .largest = token_at(json.at("largest"), tokens)},
        .origin = std::move(record.origin),
        .content = record.content};
    if (json.contains("tokenizer")) facts.tokenizer = tokenizer_identity_of(json.at("tokenizer"));
    if (json.contains("text_bytes")) facts.text_bytes = json.integer("text_bytes", 0);
    json.finish();
    return facts;
  } catch (const Error& error) {
    if (is_news(error.what())) log::warning("{}; it is not used", error.what());
    return std::nullopt;
  }
}

/// Puts together what the side files of parts say.
class PartsFacts {
 public:
  explicit PartsFacts(const TokenFile& file) {
    for (const TokenPair& pair : file.pairs()) {
      add_origin(pair);
      if (pair.tokens() > 0) add(pair);
      tokens_ += pair.tokens();
    }
    if (all_.text_bytes && known_tokens_ < tokens_ && known_tokens_ > 0) {
      const double more = static_cast<double>(tokens_) / static_cast<double>(known_tokens_);
      all_.text_bytes = std::llround(static_cast<double>(*all_.text_bytes) * more);
    }
    if (all_.content) all_.content = sum_.value();
  }

  /// Nothing where no part says anything.
  std::optional<DataFacts> facts() && { return says_something_ ? std::optional(std::move(all_)) : std::nullopt; }

  /// A line in the log for each part that says nothing, where others do.
  void warn_of_silent() const {
    if (!says_something_) return;
    for (const Silent& part : silent_) {
      const std::string what =
          fmt::format("{}: {} {}.bin", data_facts_path(part.prefix),
                      part.of_other_data ? "is of other data than" : "is missing beside", part.prefix);
      if (!is_news(what + ", a part")) continue;
      log::warning(
          "{}, unlike the files of other parts of the data set: the ids of this part are scanned, and it is assumed to "
          "have the other parts' tokenizer and as much text a token as they have; {}",
          what,
          part.of_other_data
              ? "copy the part once more, or make it anew"
              : fmt::format("`octet inspect {} --remember` keeps the range of its ids there", part.prefix));
    }
  }

 private:
  struct Silent {
    std::string prefix;
    bool of_other_data = false;  ///< its side file is of other data; false: it is damaged, or there is none
  };

  /// Of an empty part too, which may be that of another input.
  void add_origin(const TokenPair& pair) {
    const auto record = read_data_record(data_facts_path(pair.prefix()));
    if (!record || !record->origin || record->fingerprint != pair.fingerprint()) return;
    if (!all_.origin) {
      all_.origin = record->origin;
      made_ = pair.prefix();
    }
    const std::string difference = making_difference(*all_.origin, *record->origin);
    if (difference.empty()) return;
    throw usage_error(
        "data",
        "{} and {} are parts of one data set, but were not made alike: {}; expected parts of one input by "
        "the same options: `octet prepare --overwrite` makes one of them anew {}",
        made_, pair.prefix(), difference, and_read_of_parts);
  }

  void add(const TokenPair& pair) {
    auto facts = read_data_facts(pair);
    if (!facts) {
      silent_.push_back({pair.prefix(), read_data_record(data_facts_path(pair.prefix())).has_value()});
      all_.unknown.push_back({tokens_, tokens_ + pair.tokens()});
      all_.content.reset();
      return;
    }
    says_something_ = true;
    add_tokenizer(*facts, pair.prefix());
    facts->range.smallest.position += tokens_;
    facts->range.largest.position += tokens_;
    all_.range.merge(facts->range);
    if (facts->text_bytes) {
      all_.text_bytes = all_.text_bytes.value_or(0) + *facts->text_bytes;
      known_tokens_ += pair.tokens();
    }
    if (!facts->content) all_.content.reset();
    sum_.add(TokenSum(facts->content.value_or(0), pair.tokens()));
  }

  void add_tokenizer(const DataFacts& facts, const std::string& prefix) {
    if (!facts.tokenizer) return;
    if (!all_.tokenizer) {
      all_.tokenizer = facts.tokenizer;
      first_ = prefix;
    }
    const std::string difference = tokenizer_difference(*all_.tokenizer, *facts.tokenizer);
    if (difference.empty()) return;
    throw usage_error("data", "{} and {} are parts of one data set, but of two tokenizers: {} {}", first_, prefix,
                      difference, and_read_of_parts);
  }

  DataFacts all_{.content = 0};
  TokenSum sum_{};
  std::int64_t tokens_ = 0, known_tokens_ = 0;  ///< so far, and of parts that say how much text they stand for
  bool says_something_ = false;
  std::vector<Silent> silent_{};
  std::string first_{}, made_{};  ///< of the parts that tokenizer and origin are of
};

}  // namespace

std::string data_facts_path(const std::string& prefix) {
  return prefix + ".data.json";
}

std::string data_facts_json(std::uint64_t fingerprint, std::int64_t tokens, const DataFacts& facts) {
  nlohmann::ordered_json json = {{"format", format},
                                 {"fingerprint", hex_text(fingerprint)},
                                 {"tokens", tokens},
                                 {"smallest", json_of(facts.range.smallest)},
                                 {"largest", json_of(facts.range.largest)}};
  if (facts.content) json["content"] = hex_text(*facts.content);
  if (facts.tokenizer) json["tokenizer"] = json_of(*facts.tokenizer);
  if (facts.text_bytes) json["text_bytes"] = *facts.text_bytes;
  if (facts.origin) json["made"] = json_of(*facts.origin);
  return json.dump() + "\n";
}

std::string data_facts_json(const TokenFile& file, const DataFacts& facts) {
  return data_facts_json(file.fingerprint(), file.tokens(), facts);
}

std::optional<DataFacts> read_data_facts(const TokenPair& pair) {
  const std::string path = data_facts_path(pair.prefix());
  const std::optional<std::string> text = read_text_file(path);
  return text && pair.tokens() > 0 ? facts_in(*text, path, pair) : std::nullopt;
}

std::optional<DataFacts> read_data_facts(const std::string& path, const TokenFile& file) {
  const std::optional<std::string> text = read_text_file(path);
  if (file.tokens() == 0) return std::nullopt;
  auto whole = text ? facts_in(*text, path, file) : std::nullopt;
  if (file.pairs().size() == 1 || path != data_facts_path(file.prefix())) return whole;
  // Somebody may have remembered the facts of the whole, or have left those of other data here: in either case the side
  // files of the parts are read as well.
  PartsFacts parts(file);
  if (!whole) parts.warn_of_silent();
  auto facts = std::move(parts).facts();
  if (!whole || !facts) return facts ? facts : whole;
  facts->range = whole->range;
  facts->unknown.clear();
  if (!facts->content) facts->content = whole->content;
  return facts;
}

std::optional<DataRecord> read_data_record(const std::string& path) {
  const std::optional<std::string> text = read_text_file(path);
  if (!text) return std::nullopt;
  try {
    const nlohmann::json parsed = parse_json(*text, "data", path, "what is known of token data");
    return record_in(JsonReader(parsed, "data", path));
  } catch (const Error&) {
    return std::nullopt;  // whoever reads the facts is told
  }
}

bool write_data_facts(const std::string& path, const TokenFile& file, const DataFacts& facts) {
  return replace_file(path, data_facts_json(file, facts));
}

}  // namespace octet
