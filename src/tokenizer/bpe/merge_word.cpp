#include "src/tokenizer/bpe/merge_word.h"

#include <algorithm>
#include <functional>

#include "src/base/error.h"

namespace octet {
namespace {

constexpr std::size_t most_of_short = 64;      // for these, looking at all pairs again and again is fastest
constexpr std::size_t most_to_keep = 1 << 20;  // symbols
constexpr std::uint32_t nowhere = UINT32_MAX;

std::uint64_t rank_of(Merge merge) {
  return merge >> 32;
}

}  // namespace

void WordMerger::merge(std::string_view word, std::vector<std::int32_t>& ids) {
  if (word.size() <= most_of_short) return merge_short(word, ids);
  merge_long(word, ids);
  if (symbols_.capacity() > most_to_keep) {
    symbols_ = {};
    waiting_ = {};
  }
}

void WordMerger::merge_short(std::string_view word, std::vector<std::int32_t>& ids) const {
  std::int32_t symbols[most_of_short];
  Merge merges[most_of_short];  // [i]: of the symbols i and i + 1
  std::size_t count = 0;
  for (const char byte : word) {
    symbols[count] = model_.byte_ids[static_cast<std::uint8_t>(byte)];
    if (symbols[count] != no_token) ++count;
  }
  for (std::size_t i = 0; i + 1 < count; ++i) merges[i] = model_.merges.find(symbols[i], symbols[i + 1]);
  while (count > 1) {
    const std::size_t best = static_cast<std::size_t>(std::min_element(merges, merges + count - 1) - merges);
    if (merges[best] == no_merge) break;
    symbols[best] = result_of(merges[best]);
    std::copy(symbols + best + 2, symbols + count, symbols + best + 1);
    if (best + 2 < count) std::copy(merges + best + 2, merges + count - 1, merges + best + 1);
    --count;
    if (best > 0) merges[best - 1] = model_.merges.find(symbols[best - 1], symbols[best]);
    if (best + 1 < count) merges[best] = model_.merges.find(symbols[best], symbols[best + 1]);
  }
  ids.insert(ids.end(), symbols, symbols + count);
}

void WordMerger::merge_long(std::string_view word, std::vector<std::int32_t>& ids) {
  if (word.size() >= nowhere) {
    throw usage_error("tokenizer", "a word of {} bytes; expected less than {}", word.size(), nowhere);
  }
  symbols_.clear();
  symbols_.reserve(word.size());
  for (const char byte : word) {
    const std::int32_t id = model_.byte_ids[static_cast<std::uint8_t>(byte)];
    const auto place = static_cast<std::uint32_t>(symbols_.size());
    if (id != no_token) symbols_.push_back({id, place - 1, place + 1});  // nowhere is before 0
  }
  if (symbols_.empty()) return;
  symbols_.back().next = nowhere;
  const auto size = static_cast<std::uint32_t>(symbols_.size());
  waiting_.clear();
  for (std::uint32_t i = 0; i < size; ++i) {
    const Merge merge = merge_at(i);
    if (merge != no_merge) waiting_.push_back(rank_of(merge) << 32 | i);
  }
  std::ranges::make_heap(waiting_, std::greater());
  while (!waiting_.empty()) {
    const std::uint64_t first = waiting_.front();
    std::ranges::pop_heap(waiting_, std::greater());
    waiting_.pop_back();
    const auto place = static_cast<std::uint32_t>(first);
    const Merge merge = merge_at(place);
    if (merge == no_merge || rank_of(merge) != first >> 32) continue;  // the pair is no more
    Symbol& left = symbols_[place];
    Symbol& right = symbols_[left.next];
    left.id = result_of(merge);
    left.next = right.next;
    right.id = -1;
    if (left.next != nowhere) symbols_[left.next].previous = place;
    if (left.previous != nowhere) consider(left.previous);
    consider(place);
  }
  for (std::uint32_t i = 0; i != nowhere; i = symbols_[i].next) ids.push_back(symbols_[i].id);
}

/// The merge of the symbol at that place with the next one.
Merge WordMerger::merge_at(std::uint32_t place) const {
  const Symbol& left = symbols_[place];
  if (left.id < 0 || left.next == nowhere) return no_merge;
  return model_.merges.find(left.id, symbols_[left.next].id);
}

void WordMerger::consider(std::uint32_t place) {
  const Merge merge = merge_at(place);
  if (merge == no_merge) return;
  waiting_.push_back(rank_of(merge) << 32 | place);
  std::ranges::push_heap(waiting_, std::greater());
}

}  // namespace octet
