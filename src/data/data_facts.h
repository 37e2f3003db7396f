#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/data/data_origin.h"
#include "src/data/token_file.h"
#include "src/data/token_range.h"
#include "src/data/tokenizer_identity.h"

namespace octet {

// What is known of token data is kept beside them in PREFIX.data.json, with the fingerprint of the data: the range of
// their ids, and, where `octet prepare` made them, the tokenizer, how much text they stand for, how they were made and
// the sum of all ids. For data that came from elsewhere `octet inspect --remember` writes the file. A run that scans
// its data keeps such a file in its own directory (src/train/start/token_ranges.h). A field that an older file lacks is
// not compared.

/// Tokens [begin, end) of a token file.
struct TokenInterval {
  std::int64_t begin = 0, end = 0;

  bool operator==(const TokenInterval&) const = default;
};

struct DataFacts {
  TokenRange range{};
  std::optional<TokenizerIdentity> tokenizer{};
  /// Of the text that the tokens stand for; control tokens stand for none. Where some of several parts do not say it,
  /// reckoned from the others' mean.
  std::optional<std::int64_t> text_bytes{};
  std::optional<DataOrigin> origin{};
  std::optional<std::uint64_t> content{};  ///< TokenSum::value() of all ids
  /// The parts that say nothing, of which `range` does not tell.
  std::vector<TokenInterval> unknown{};

  bool operator==(const DataFacts&) const = default;
};

/// PREFIX.data.json.
std::string data_facts_path(const std::string& prefix);
/// The text of a side file. What is unknown has no place there.
std::string data_facts_json(const TokenFile& file, const DataFacts& facts);
std::string data_facts_json(std::uint64_t fingerprint, std::int64_t tokens, const DataFacts& facts);

/// What the side file at `path` says; nothing where there is none, or where it belongs to other data or is damaged (a
/// line in the log says so). If the token file has several parts and `path` is PREFIX.data.json, the side files of the
/// parts are read in any case, with a warning for a part that has none, or one of other data; PREFIX.data.json then
/// gives the range, and the sum of all ids unless all parts give theirs. Usage error where parts do not belong
/// together: made with two tokenizers, with other options or from another input.
std::optional<DataFacts> read_data_facts(const std::string& path, const TokenFile& file);
/// What the side file of one pair says of it, likewise.
std::optional<DataFacts> read_data_facts(const TokenPair& pair);

/// What a side file says it is of; the data are not looked at.
struct DataRecord {
  std::uint64_t fingerprint = 0;
  std::int64_t tokens = 0;
  std::optional<DataOrigin> origin{};
  std::optional<std::uint64_t> content{};  ///< as of DataFacts
};
/// Nothing where there is none, or where it cannot be understood.
std::optional<DataRecord> read_data_record(const std::string& path);

/// Writes the side file, by replace_file; false, with errno, where that cannot be.
[[nodiscard]] bool write_data_facts(const std::string& path, const TokenFile& file, const DataFacts& facts);

}  // namespace octet
