#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "src/tokenizer/bpe/bpe_model.h"
#include "src/tokenizer/bpe/merge_word.h"
#include "src/tokenizer/bpe/word_cache.h"

namespace octet {

/// Turns the pieces of a text into ids. It belongs to one thread, and the model has to outlive it.
class WordEncoder {
 public:
  explicit WordEncoder(const BpeModel& model) : model_(model), merger_(model) {}

  /// Appends the ids of a word that is not empty and of which `readable` bytes may be read.
  void encode(std::string_view word, std::size_t readable, std::vector<std::int32_t>& ids) {
    if (word.size() > WordCache::most_bytes) return encode_anew(word, ids);
    std::array<std::uint64_t, 4> key;  // filled by the cache
    WordCache::Entry& entry = cache_.at(word, readable, key);
    if (entry.key == key) {
      ids.insert(ids.end(), entry.ids.begin(), entry.ids.begin() + entry.count);
    } else {
      encode_and_keep(word, key, entry, ids);
    }
  }

 private:
  void encode_anew(std::string_view word, std::vector<std::int32_t>& ids);
  void encode_and_keep(std::string_view word, const std::array<std::uint64_t, 4>& key, WordCache::Entry& entry,
                       std::vector<std::int32_t>& ids);

  const BpeModel& model_;
  WordMerger merger_;
  WordCache cache_;
};

}  // namespace octet
