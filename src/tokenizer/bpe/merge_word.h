#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "src/tokenizer/bpe/bpe_model.h"

namespace octet {

/// Byte-pair encoding of words: of all neighbours the pair of least rank is merged first, of several of one rank the
/// leftmost, until no pair has a merge. It belongs to one thread.
class WordMerger {
 public:
  explicit WordMerger(const BpeModel& model) : model_(model) {}

  /// Appends the ids of a word, in which bytes without a token are passed over. A word of n bytes takes O(n log n) and
  /// 20 bytes of memory a byte, which are given back for long words; usage error for one of 4 GiB or more.
  void merge(std::string_view word, std::vector<std::int32_t>& ids);

 private:
  void merge_short(std::string_view word, std::vector<std::int32_t>& ids) const;
  void merge_long(std::string_view word, std::vector<std::int32_t>& ids);

  /// A token of the word that is being merged, at the place of its first byte.
  struct Symbol {
    std::int32_t id;  ///< -1: is part of one before
    std::uint32_t previous;
    std::uint32_t next;
  };
  Merge merge_at(std::uint32_t place) const;
  void consider(std::uint32_t place);

  const BpeModel& model_;
  std::vector<Symbol> symbols_;
  std::vector<std::uint64_t> waiting_;  ///< a heap: rank of a merge, and the place of its left part
};

}  // namespace octet
