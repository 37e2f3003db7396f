#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace octet {

/// A piece of text and how often it occurs.
struct WordCount {
  std::string word;
  std::int64_t count = 0;
};

struct BpeTraining {
  std::int32_t vocab_size = 0;  ///< special tokens and the 256 bytes included
  std::vector<std::string> special{};
  std::int64_t min_frequency = 0;  ///< a pair that is rarer is not merged
};

/// Usage error for a vocab_size below 256 and the special tokens, or for special tokens that are equal or empty.
void check_training(const BpeTraining& training);

/// A byte-level vocabulary: the special tokens have the first ids, then come the 256 bytes in the order of the code
/// points that stand for them in a tokenizer.json (byte_alphabet.h), then what merges make.
struct TrainedBpe {
  std::vector<std::string> tokens;                            ///< by id: the bytes themselves
  std::vector<std::pair<std::int32_t, std::int32_t>> merges;  ///< ids, in the order of their rank
  std::int32_t special = 0;                                   ///< how many of the tokens are special
};

/// Byte-pair encoding (R. Sennrich, B. Haddow, A. Birch, "Neural Machine Translation of Rare Words with Subword Units",
/// ACL 2016), with the choices of Hugging Face's BpeTrainer: again and again the pair of neighbours that is most
/// frequent within words becomes a token; of equally frequent ones that with the smaller ids. Other than there, a pair
/// whose text is that of a special token is left as it is. Ends at vocab_size, or where no pair is left. `progress`, if
/// given, is called with the number of tokens. Memory: about 12 bytes a byte of different words. Usage errors as of
/// check_training.
TrainedBpe train_bpe(const std::vector<WordCount>& words, const BpeTraining& training,
                     const std::function<void(std::int32_t)>& progress = {});

}  // namespace octet
