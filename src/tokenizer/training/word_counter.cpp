#include "src/tokenizer/training/word_counter.h"

#include <algorithm>

#include "src/tokenizer/split/llama3.h"

namespace octet {

void WordCounter::add(std::string_view text) {
  bytes_ += static_cast<std::int64_t>(text.size());
  Llama3Split().for_each_piece(text, [&](std::string_view piece) {
    ++pieces_;
    if (const auto found = counts_.find(piece); found != counts_.end()) {
      ++found->second;
    } else {
      counts_.emplace(piece, 1);
    }
  });
}

void WordCounter::merge(const WordCounter& other) {
  pieces_ += other.pieces_;
  bytes_ += other.bytes_;
  for (const auto& [word, count] : other.counts_) counts_[word] += count;
}

std::vector<WordCount> WordCounter::counts() const {
  std::vector<WordCount> all;
  all.reserve(counts_.size());
  for (const auto& [word, count] : counts_) all.push_back({word, count});
  std::ranges::sort(all, {}, &WordCount::word);
  return all;
}

}  // namespace octet
