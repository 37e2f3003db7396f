#include "src/data/token_range.h"

#include <algorithm>
#include <limits>

#include "src/base/error.h"

namespace octet {
namespace {

/// The range of tokens in memory; the first loop is one that compilers vectorise.
template <typename T>
TokenRange range_of(const std::uint8_t* from, std::int64_t tokens, std::int64_t position) {
  T least = std::numeric_limits<T>::max(), most = std::numeric_limits<T>::min();
  for (std::int64_t i = 0; i < tokens; ++i) {
    const T id = load_unaligned<T>(from + i * std::int64_t{sizeof(T)});
    least = std::min(least, id);
    most = std::max(most, id);
  }
  const auto first = [&](T wanted) {
    std::int64_t i = 0;
    while (load_unaligned<T>(from + i * std::int64_t{sizeof(T)}) != wanted) ++i;
    return TokenAt{wanted, position + i};
  };
  return {.smallest = first(least), .largest = first(most)};
}

}  // namespace

void TokenRange::merge(const TokenRange& other) {
  if (other.is_empty()) return;
  const auto comes_first = [](const TokenAt& a, const TokenAt& b) { return a.id == b.id && a.position < b.position; };
  const bool none = is_empty();
  if (none || other.smallest.id < smallest.id || comes_first(other.smallest, smallest)) smallest = other.smallest;
  if (none || other.largest.id > largest.id || comes_first(other.largest, largest)) largest = other.largest;
}

void TokenRangeScan::add_whole(const std::uint8_t* from, std::int64_t tokens) {
  if (tokens == 0) return;
  range_.merge(type_ == TokenType::u8    ? range_of<std::uint8_t>(from, tokens, position_)
               : type_ == TokenType::u16 ? range_of<std::uint16_t>(from, tokens, position_)
                                         : range_of<std::int32_t>(from, tokens, position_));
  position_ += tokens;
}

void TokenRangeScan::add(std::span<const char> bytes) {
  const auto* from = reinterpret_cast<const std::uint8_t*>(bytes.data());
  auto left = static_cast<std::int64_t>(bytes.size());
  const std::int64_t width = size_of(type_);
  for (; left > 0 && !part_.empty(); --left) {
    part_.push_back(*from++);
    if (static_cast<std::int64_t>(part_.size()) < width) continue;
    add_whole(part_.data(), 1);
    part_.clear();
  }
  const std::int64_t whole = left / width;
  add_whole(from, whole);
  part_.insert(part_.end(), from + whole * width, from + left);
}

bool may_leave_vocabulary(TokenType type, std::int64_t vocab_size) {
  return type == TokenType::i32 || (std::int64_t{1} << (8 * size_of(type))) > vocab_size;
}

bool is_in_vocabulary(const TokenRange& range, std::int64_t vocab_size) {
  return range.is_empty() || (range.smallest.id >= 0 && range.largest.id < vocab_size);
}

void expect_in_vocabulary(const TokenFile& file, const TokenRange& range, std::int64_t vocab_size,
                          std::string_view key) {
  if (is_in_vocabulary(range, vocab_size)) return;
  const bool negative = range.smallest.id < 0;
  const TokenAt& bad = negative ? range.smallest : range.largest;
  throw Error(
      ExitCode::usage,
      fmt::format("[data] {}: {}: its {} token id is {}, at position {} of {}; expected ids from 0 to {}, below "
                  "the vocab_size {} of the model: prepare the data with the model's tokenizer, or take the model that "
                  "they were made for (docs/problems.md, \"Token ids are not in the vocabulary\")",
                  key, file.bin_path(), negative ? "smallest" : "largest", bad.id, bad.position, file.tokens(),
                  vocab_size - 1, vocab_size),
      true);
}

}  // namespace octet
