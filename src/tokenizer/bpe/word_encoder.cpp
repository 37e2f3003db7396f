#include "src/tokenizer/bpe/word_encoder.h"

#include <algorithm>

namespace octet {

void WordEncoder::encode_anew(std::string_view word, std::vector<std::int32_t>& ids) {
  if (model_.whole_first) {
    if (const auto id = model_.tokens.find(word)) {
      ids.push_back(*id);
      return;
    }
  }
  merger_.merge(word, ids);
}

void WordEncoder::encode_and_keep(std::string_view word, const std::array<std::uint64_t, 4>& key,
                                  WordCache::Entry& entry, std::vector<std::int32_t>& ids) {
  const std::size_t before = ids.size();
  encode_anew(word, ids);
  const std::size_t count = ids.size() - before;
  if (count > WordCache::most_ids) return;
  entry.key = key;
  entry.count = static_cast<std::int32_t>(count);
  std::copy(ids.begin() + static_cast<std::ptrdiff_t>(before), ids.end(), entry.ids.begin());
}

}  // namespace octet
