#include "src/data/token_file.h"

#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "src/base/error.h"
#include "src/base/read_file.h"
#include "src/data/mapped_file.h"

namespace octet {
namespace fs = std::filesystem;
namespace {

/// The number in five digits that a text begins with; -1 where it does not.
std::int64_t number_in(std::string_view text) {
  std::int64_t number = 0;
  for (const char c : text.substr(0, 5)) {
    if (c < '0' || c > '9') return -1;
    number = number * 10 + (c - '0');
  }
  return text.size() < 5 ? -1 : number;
}

bool sees(const std::string& path) {
  try {
    return files::is_there(path);
  } catch (const files::ReadError& error) {
    throw_not_given("open", path, error.error());
  }
}

/// Which parts there are of how many: NAME-00001-of-00004.idx beside the path NAME. None where there is no such folder;
/// a list that was cut off would pass for one in which parts are missing.
std::map<std::int64_t, std::set<std::int64_t>> parts_beside(const fs::path& prefix) {
  std::map<std::int64_t, std::set<std::int64_t>> parts;
  const std::string begin = prefix.filename().string() + "-";
  const fs::path folder = prefix.has_parent_path() ? prefix.parent_path() : ".";
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    constexpr std::string_view form = "00001-of-00004.idx";
    if (!name.starts_with(begin) || name.size() != begin.size() + form.size() || !name.ends_with(".idx")) continue;
    const std::string_view numbers = std::string_view(name).substr(begin.size());
    const std::int64_t part = number_in(numbers), count = number_in(numbers.substr(9));
    if (numbers.substr(5, 4) == "-of-" && part >= 1 && part <= count) parts[count].insert(part);
  }
  const bool no_folder = failed == std::errc::no_such_file_or_directory || failed == std::errc::not_a_directory;
  if (failed && !no_folder) throw_not_given("list", folder, failed.value());
  return parts;
}

std::string part_prefix(const std::string& prefix, std::int64_t part, std::int64_t count) {
  return fmt::format("{}-{:05}-of-{:05}", prefix, part, count);
}

std::vector<TokenPair> open_pairs(const std::string& path) {
  std::vector<TokenPair> pairs;
  for (const std::string& prefix : token_prefixes(path)) pairs.emplace_back(prefix);
  return pairs;
}

}  // namespace

std::array<std::string, 2> token_file_paths(const std::string& path) {
  const std::string prefix = token_prefix_of(path);
  return {prefix + ".bin", prefix + ".idx"};
}

std::optional<std::string> some_part_of(const std::string& prefix) {
  std::map<std::int64_t, std::set<std::int64_t>> sets;
  try {
    sets = parts_beside(prefix);
  } catch (const files::ReadError&) {
    throw;
  } catch (const Error&) {
    return std::nullopt;  // such folders may be written to, and a pair in them may be read
  }
  if (sets.empty()) return std::nullopt;
  return part_prefix(prefix, *sets.begin()->second.begin(), sets.begin()->first) + ".idx";
}

std::vector<std::string> token_prefixes(const std::string& path) {
  const std::string prefix = token_prefix_of(path);
  if (sees(prefix + ".idx") || sees(prefix + ".bin")) {
    const auto part = some_part_of(prefix);
    if (!part) return {prefix};
    throw usage_error(
        "data",
        "{}: there are {} and {} beside each other, of a pair and of parts; expected one of them: move the "
        "other away",
        prefix, prefix + (sees(prefix + ".idx") ? ".idx" : ".bin"), *part);
  }
  const auto sets = parts_beside(prefix);
  if (sets.empty()) return {prefix};
  if (sets.size() > 1) {
    throw usage_error("data", "{}: there are parts of {} and parts of {} beside each other; expected those of one",
                      prefix, sets.begin()->first, sets.rbegin()->first);
  }
  const auto& [count, parts] = *sets.begin();
  std::vector<std::string> prefixes;
  for (std::int64_t part = 1; part <= count; ++part) {
    prefixes.push_back(part_prefix(prefix, part, count));
    if (!parts.contains(part)) {
      throw usage_error("data", "{}.idx is missing; {} of {} parts are there: octet prepare --part {}/{} makes it",
                        prefixes.back(), parts.size(), count, part, count);
    }
  }
  return prefixes;
}

TokenFile::TokenFile(const std::string& path) : TokenFile(path, open_pairs(path)) {}

TokenFile::TokenFile(const std::string& path, std::vector<TokenPair> pairs)
    : prefix_(token_prefix_of(path)), pairs_(std::move(pairs)) {
  for (const TokenPair& pair : pairs_) {
    if (pair.type() != type()) {
      throw usage_error("data", "{} has {} tokens, {} has {}; expected parts of one data set", pair.bin_path(),
                        name_of(pair.type()), pairs_.front().bin_path(), name_of(type()));
    }
    tokens_before_.push_back(tokens() + pair.tokens());
    documents_before_.push_back(documents() + pair.documents());
  }
}

std::int64_t TokenFile::sequences() const {
  std::int64_t sequences = 0;
  for (const TokenPair& pair : pairs_) sequences += pair.sequences();
  return sequences;
}

std::string TokenFile::bin_path() const {
  if (pairs_.size() == 1) return pairs_.front().bin_path();
  return fmt::format("{} to {}", pairs_.front().bin_path(), pairs_.back().bin_path());
}

std::string TokenFile::idx_path() const {
  if (pairs_.size() == 1) return pairs_.front().idx_path();
  return fmt::format("{} to {}", pairs_.front().idx_path(), pairs_.back().idx_path());
}

std::int64_t TokenFile::document_begin(std::int64_t document) const {
  if (document < 0 || document > documents()) {
    throw internal_error("data", "{}: document {} of {}", prefix_, document, documents());
  }
  if (document == documents()) return tokens();
  const auto behind = std::ranges::upper_bound(documents_before_, document);
  const auto pair = static_cast<std::size_t>(behind - documents_before_.begin() - 1);
  return tokens_before_[pair] + pairs_[pair].document_begin(document - documents_before_[pair]);
}

std::int64_t TokenFile::document_tokens(std::int64_t document) const {
  return document_begin(document + 1) - document_begin(document);
}

void TokenFile::read(std::int64_t position, std::span<std::int32_t> out, std::int64_t vocab_size) const {
  const auto count = static_cast<std::int64_t>(out.size());
  if (position < 0 || count > tokens() || position > tokens() - count) {
    throw internal_error("data", "{}: tokens [{}, {}) of {}", bin_path(), position, position + count, tokens());
  }
  const auto behind = std::ranges::upper_bound(tokens_before_, position);
  auto pair = static_cast<std::size_t>(behind - tokens_before_.begin() - 1);
  for (; !out.empty(); ++pair) {  // a window may go over the end of a part
    const std::int64_t within = position - tokens_before_[pair];
    const std::size_t here = std::min(out.size(), static_cast<std::size_t>(pairs_[pair].tokens() - within));
    pairs_[pair].read(within, out.first(here), vocab_size);
    out = out.subspan(here);
    position += static_cast<std::int64_t>(here);
  }
}

std::vector<TokenFile::Stretch> TokenFile::stretches(std::int64_t begin, std::int64_t end) const {
  std::vector<Stretch> all;
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    const std::int64_t from = std::max(begin, tokens_before_[i]), to = std::min(end, tokens_before_[i + 1]);
    if (from < to) all.push_back({pairs_[i].bin_path(), from - tokens_before_[i], to - from});
  }
  return all;
}

std::uint64_t TokenFile::fingerprint() const {
  if (pairs_.size() == 1) return pairs_.front().fingerprint();
  std::vector<std::uint64_t> parts;
  for (const TokenPair& pair : pairs_) parts.push_back(pair.fingerprint());
  return XXH3_64bits(parts.data(), parts.size() * sizeof parts[0]);
}

}  // namespace octet
