#include "src/data/read_content.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/base/progress.h"
#include "src/data/token_sum.h"

namespace octet {
namespace {

Error damaged_data(const std::vector<std::string>& damaged) {
  return usage_error("data",
                     "{}; expected the tokens that were written: copy the file once more, or prepare it anew "
                     "(docs/data.md, \"What stands beside the data\")",
                     fmt::join(damaged, "; "));
}

/// The record at `path` where it is of other data than `data`, a TokenFile or one of its pairs.
template <typename Data>
std::optional<DataRecord> record_of_others(const std::string& path, const Data& data) {
  auto record = read_data_record(path);
  if (record && record->fingerprint == data.fingerprint() && record->tokens == data.tokens()) record.reset();
  return record;
}

template <typename Data>
void add_other_data(const std::string& path, const Data& data, std::vector<std::string>& damaged) {
  const auto record = record_of_others(path, data);
  if (!record) return;
  damaged.push_back(fmt::format("{}: its fingerprint is {:016x}, of {} tokens, and {} is of {:016x}, of {}",
                                data.bin_path(), data.fingerprint(), data.tokens(), path, record->fingerprint,
                                record->tokens));
}

template <typename Data>
void refuse_to_forget(const std::string& path, const Data& data) {
  const auto record = record_of_others(path, data);
  if (!record || (!record->origin && !record->content)) return;
  throw usage_error(
      "data",
      "--remember: {} is of other data than {} holds now, and says what cannot be found in them; expected "
      "the data that it is of: copy or prepare them anew, or remove that file first",
      path, data.bin_path());
}

/// How what was read differs from what stands beside it at `json`; empty where it does not.
std::string damage(const std::string& bin, const std::string& json, const DataFacts& facts, const TokenRange& range,
                   std::uint64_t sum, const char* its) {
  if (facts.content && *facts.content != sum) {
    return fmt::format("{}: the sum of {} ids is {:016x}, and {} says {:016x}", bin, its, sum, json, *facts.content);
  }
  if (facts.range == range) return "";
  return fmt::format("{}: {} ids go from {} to {}, and {} says {} to {}", bin, its, range.smallest.id, range.largest.id,
                     json, facts.range.smallest.id, facts.range.largest.id);
}

/// One reading of the tokens of which the range is not known, or of all.
class Reading {
 public:
  Reading(const TokenFile& file, const std::optional<DataFacts>& facts, bool all)
      : file_(file), facts_(facts), all_(all || !facts), progress_("scan", tokens_to_read() * size_of(file.type())) {
    if (!all_) content_.range = facts_->range;
  }

  Content read() && {
    std::int64_t begin = 0;
    for (const TokenPair& pair : file_.pairs()) {
      const TokenInterval here{begin, begin + pair.tokens()};
      begin = here.end;
      if (pair.tokens() == 0) continue;
      ++content_.pairs;
      if (all_ || std::ranges::find(facts_->unknown, here) != facts_->unknown.end()) add(pair, here.begin);
    }
    if (all_) compare_whole();
    if (!damaged_.empty()) throw damaged_data(damaged_);
    return content_;
  }

 private:
  std::int64_t tokens_to_read() const {
    if (all_) return file_.tokens();
    std::int64_t tokens = 0;
    for (const TokenInterval& unknown : facts_->unknown) tokens += unknown.end - unknown.begin;
    return tokens;
  }

  void add(const TokenPair& pair, std::int64_t begin) {
    TokensRead read = read_all_tokens(pair, [&](std::int64_t bytes) { progress_.advance(bytes); });
    if (const auto facts = read_data_facts(pair)) {
      const std::string what =
          damage(pair.bin_path(), data_facts_path(pair.prefix()), *facts, read.range, read.sum.value(), "its");
      if (!what.empty()) damaged_.push_back(what);
      if (facts->content) ++content_.compared;
    }
    read.range.smallest.position += begin;
    read.range.largest.position += begin;
    content_.range.merge(read.range);
    sum_.add(read.sum);
  }

  /// Compares with what was remembered of all parts together, since a part may have no side file of its own.
  void compare_whole() {
    content_.sum = sum_.value();
    const bool is_known = facts_ && facts_->unknown.empty();
    if (!is_known || file_.pairs().size() == 1 || !damaged_.empty()) return;
    const std::string what =
        damage(file_.bin_path(), data_facts_path(file_.prefix()), *facts_, content_.range, *content_.sum, "their");
    if (!what.empty()) damaged_.push_back(what);
    if (facts_->content) content_.compared = content_.pairs;
  }

  const TokenFile& file_;
  const std::optional<DataFacts>& facts_;
  bool all_;
  Progress progress_;
  Content content_{};
  TokenSum sum_{};
  std::vector<std::string> damaged_{};
};

}  // namespace

void refuse_other_data(const TokenFile& file) {
  std::vector<std::string> damaged;
  for (const TokenPair& pair : file.pairs()) add_other_data(data_facts_path(pair.prefix()), pair, damaged);
  if (damaged.empty() && file.pairs().size() > 1) add_other_data(data_facts_path(file.prefix()), file, damaged);
  if (damaged.empty()) return;
  throw usage_error("data",
                    "{}; expected the data that were written: copy the files once more, or, where they were made anew "
                    "since, remove what is known of the old (docs/data.md, \"What stands beside the data\")",
                    fmt::join(damaged, "; "));
}

void refuse_to_forget(const TokenFile& file) {
  refuse_to_forget(data_facts_path(file.prefix()), file);
  if (file.pairs().size() == 1) return;
  for (const TokenPair& pair : file.pairs()) refuse_to_forget(data_facts_path(pair.prefix()), pair);
}

Content read_content(const TokenFile& file, const std::optional<DataFacts>& facts, bool all) {
  if (!all && facts && facts->unknown.empty()) return {.range = facts->range, .sum = facts->content};
  return Reading(file, facts, all).read();
}

}  // namespace octet
