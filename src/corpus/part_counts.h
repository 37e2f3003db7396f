#pragma once

#include <cstdint>
#include <optional>

#include "src/data/token_range.h"
#include "src/data/token_sum.h"

namespace octet {

/// The counts of the tokens of a part that were written to one pair of files.
struct TokenCounts {
  std::int64_t documents = 0;
  std::int64_t tokens = 0;  ///< with those that begin and end documents
  std::int64_t text_bytes = 0;
  TokenRange range{};  ///< of their ids
  /// The sum of their ids; nothing where one of the parts was made by a version that did not keep it.
  std::optional<TokenSum> sum = TokenSum();

  /// What comes behind it.
  void add(const TokenCounts& other) {
    TokenRange behind = other.range;
    if (!behind.is_empty()) {
      behind.smallest.position += tokens;
      behind.largest.position += tokens;
      range.merge(behind);
    }
    if (!other.sum) sum.reset();
    if (sum) sum->add(*other.sum);
    documents += other.documents;
    tokens += other.tokens;
    text_bytes += other.text_bytes;
  }
};

/// What was found in a part of the input.
struct PartCounts {
  TokenCounts kept{}, held_out{};
  std::int64_t empty_files = 0;      ///< that are whole in the part and hold no text
  std::int64_t empty_documents = 0;  ///< records whose text is empty, which are left out
  std::int64_t broken = 0;           ///< records without a text, which are left out
  std::int64_t replaced = 0;         ///< pieces of text that were no UTF-8

  /// What comes behind it.
  void add(const PartCounts& other) {
    kept.add(other.kept);
    held_out.add(other.held_out);
    empty_files += other.empty_files;
    empty_documents += other.empty_documents;
    broken += other.broken;
    replaced += other.replaced;
  }
};

}  // namespace octet
