#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/data/token_file.h"
#include "src/data/token_range.h"
#include "src/data/tokenizer_identity.h"

namespace octet {

// What is known of token data stands beside them in PREFIX.data.json, with the fingerprint of what it is of: the range
// of their ids, and where `octet prepare` made them, the tokenizer and how much text they stand for. For data that came
// from elsewhere `octet inspect --remember` writes it. A run that scans its data keeps such a file in its own directory
// (src/train/start/token_ranges.h).

struct DataFacts {
  TokenRange range{};
  std::optional<TokenizerIdentity> tokenizer{};
  std::optional<std::int64_t> text_bytes{};  ///< of the text that the tokens stand for; control tokens stand for none

  bool operator==(const DataFacts&) const = default;
};

/// PREFIX.data.json.
std::string data_facts_path(const std::string& prefix);
/// The text of a side file.
std::string data_facts_json(const TokenFile& file, const DataFacts& facts);
/// What the side file at `path` says; nothing where there is none, or where it is of other data or damaged (with a line
/// in the log that says so).
std::optional<DataFacts> read_data_facts(const std::string& path, const TokenFile& file);
/// Writes the side file, by replace_file; false, with errno, where that cannot be.
[[nodiscard]] bool write_data_facts(const std::string& path, const TokenFile& file, const DataFacts& facts);

}  // namespace octet
