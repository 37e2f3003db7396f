#include "src/tokenizer/training/bpe_trainer.h"

#include <algorithm>
#include <queue>
#include <set>
#include <unordered_map>

#include "src/base/error.h"
#include "src/base/printable.h"
#include "src/base/utf8_piece.h"
#include "src/tokenizer/byte_alphabet.h"

namespace octet {
namespace {

using Pair = std::pair<std::int32_t, std::int32_t>;

struct PairHash {
  std::size_t operator()(const Pair& pair) const {
    const auto both = static_cast<std::uint64_t>(pair.first) << 32 | static_cast<std::uint32_t>(pair.second);
    const std::uint64_t mixed = (both ^ both >> 29) * 0x9E3779B97F4A7C15u;
    return static_cast<std::size_t>(mixed ^ mixed >> 32);
  }
};

/// A pair that may be merged next, as it was when it was queued, and the words that hold it.
struct Candidate {
  Pair pair;
  std::int64_t count = 0;
  std::vector<std::uint32_t> words{};

  /// The most frequent comes first, of equals the one with the smaller ids.
  bool operator<(const Candidate& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

class Trainer {
 public:
  Trainer(const std::vector<WordCount>& words, const BpeTraining& training) : training_(training) {
    begin_vocabulary();
    std::vector<std::int32_t> id_of_byte(256);
    std::int32_t next = result_.special;
    for (const std::uint8_t byte : bytes_by_code_point()) id_of_byte[byte] = next++;
    for (const WordCount& word : words) {
      std::vector<std::int32_t>& ids = words_.emplace_back();
      ids.reserve(word.word.size());
      for (const char byte : word.word) ids.push_back(id_of_byte[static_cast<std::uint8_t>(byte)]);
      counts_.push_back(word.count);
    }
  }

  TrainedBpe train(const std::function<void(std::int32_t)>& progress) {
    count_pairs();
    while (static_cast<std::int32_t>(result_.tokens.size()) < training_.vocab_size && !queue_.empty()) {
      Candidate best = queue_.top();
      queue_.pop();
      const std::int64_t now = pairs_[best.pair];
      if (best.count != now) {  // other merges have taken some of it
        best.count = now;
        queue_.push(std::move(best));
        continue;
      }
      if (best.count < std::max<std::int64_t>(training_.min_frequency, 1)) break;
      if (spells_special(best.pair)) continue;
      merge(best);
      if (progress) progress(static_cast<std::int32_t>(result_.tokens.size()));
    }
    return std::move(result_);
  }

 private:
  void begin_vocabulary() {
    result_.tokens = training_.special;
    special_.insert(training_.special.begin(), training_.special.end());
    result_.special = static_cast<std::int32_t>(training_.special.size());
    for (const std::uint8_t byte : bytes_by_code_point()) {
      result_.tokens.emplace_back(1, static_cast<char>(byte));
      ids_.emplace(result_.tokens.back(), static_cast<std::int32_t>(result_.tokens.size()) - 1);
    }
  }

  void count_pairs() {
    std::unordered_map<Pair, std::vector<std::uint32_t>, PairHash> places;
    for (std::size_t w = 0; w < words_.size(); ++w) {
      for (std::size_t i = 0; i + 1 < words_[w].size(); ++i) {
        const Pair pair{words_[w][i], words_[w][i + 1]};
        pairs_[pair] += counts_[w];
        std::vector<std::uint32_t>& in = places[pair];
        if (in.empty() || in.back() != w) in.push_back(static_cast<std::uint32_t>(w));
      }
    }
    for (auto& [pair, in] : places) queue_.push({pair, pairs_[pair], std::move(in)});
  }

  std::string text_of(const Pair& pair) const {
    return result_.tokens[static_cast<std::size_t>(pair.first)] + result_.tokens[static_cast<std::size_t>(pair.second)];
  }

  /// No merge makes the text of a special token: a text that holds it would become that token.
  bool spells_special(const Pair& pair) const {
    return !special_.empty() && special_.contains(spell_bytes(text_of(pair)));
  }

  void merge(const Candidate& best) {
    const std::string text = text_of(best.pair);
    const auto next = static_cast<std::int32_t>(result_.tokens.size());
    const auto [known, is_new] = ids_.emplace(text, next);  // other merges may have made the same text
    if (is_new) result_.tokens.push_back(text);
    result_.merges.push_back(best.pair);
    std::unordered_map<Pair, std::vector<std::uint32_t>, PairHash> grown;
    for (const std::uint32_t w : best.words) merge_in(w, best.pair, known->second, grown);
    for (auto& [pair, in] : grown) {
      if (const std::int64_t count = pairs_[pair]; count > 0) queue_.push({pair, count, std::move(in)});
    }
  }

  /// Replaces the pair in a word, from its beginning on, and keeps the counts of what stands beside it.
  void merge_in(std::uint32_t w, const Pair& pair, std::int32_t id,
                std::unordered_map<Pair, std::vector<std::uint32_t>, PairHash>& grown) {
    std::vector<std::int32_t>& ids = words_[w];
    const std::int64_t count = counts_[w];
    const auto grow = [&](const Pair& p) {
      pairs_[p] += count;
      std::vector<std::uint32_t>& in = grown[p];
      if (in.empty() || in.back() != w) in.push_back(w);
    };
    std::size_t to = 0;
    for (std::size_t from = 0; from < ids.size(); ++from, ++to) {
      if (from + 1 == ids.size() || ids[from] != pair.first || ids[from + 1] != pair.second) {
        ids[to] = ids[from];
        continue;
      }
      if (to > 0) {
        pairs_[{ids[to - 1], pair.first}] -= count;
        grow({ids[to - 1], id});
      }
      if (from + 2 < ids.size()) {
        pairs_[{pair.second, ids[from + 2]}] -= count;
        grow({id, ids[from + 2]});
      }
      ids[to] = id;
      ++from;
    }
    ids.resize(to);
  }

  const BpeTraining& training_;
  TrainedBpe result_;
  std::set<std::string> special_;
  std::unordered_map<std::string, std::int32_t> ids_;  ///< of tokens that are not special
  std::vector<std::vector<std::int32_t>> words_;
  std::vector<std::int64_t> counts_;
  std::unordered_map<Pair, std::int64_t, PairHash> pairs_;
  std::priority_queue<Candidate> queue_;
};

}  // namespace

void check_training(const BpeTraining& training) {
  const std::size_t least = training.special.size() + 256;
  if (training.vocab_size < static_cast<std::int64_t>(least)) {
    throw usage_error("tokenizer",
                      "a vocabulary of {} tokens; expected at least {}: the 256 bytes and {} special tokens",
                      training.vocab_size, least, training.special.size());
  }
  std::set<std::string> seen;
  for (const std::string& special : training.special) {
    if (special.empty()) throw usage_error("tokenizer", "a special token is empty");
    if (!is_utf8(special)) {
      throw usage_error("tokenizer", "special token {} is no UTF-8; expected a text that JSON can hold",
                        readable(special));
    }
    if (!seen.insert(special).second) throw usage_error("tokenizer", "special token {} is given twice", special);
  }
}

TrainedBpe train_bpe(const std::vector<WordCount>& words, const BpeTraining& training,
                     const std::function<void(std::int32_t)>& progress) {
  check_training(training);
  return Trainer(words, training).train(progress);
}

}  // namespace octet
