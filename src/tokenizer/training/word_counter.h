#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/tokenizer/training/bpe_trainer.h"

namespace octet {

/// Counts the pieces of texts as the Llama-3 pattern cuts them, which is what a vocabulary is made of. It belongs to
/// one thread; several are merged.
class WordCounter {
 public:
  /// A whole document, or a piece of one that ends where the pattern may be cut.
  void add(std::string_view text);
  void merge(const WordCounter& other);

  std::int64_t pieces() const { return pieces_; }
  std::int64_t bytes() const { return bytes_; }
  /// In the order of the words' bytes, so that the number of threads does not show.
  std::vector<WordCount> counts() const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> counts_;
  std::int64_t pieces_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace octet
