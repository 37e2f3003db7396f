#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "src/data/token_file.h"
#include "src/data/token_type.h"

namespace octet {

/// A token id and the first position of it in the stream of tokens; -1 where there is none.
struct TokenAt {
  std::int64_t id = 0;
  std::int64_t position = -1;

  bool operator==(const TokenAt&) const = default;
};

/// The smallest and the largest token id of a stream.
struct TokenRange {
  TokenAt smallest, largest;

  bool is_empty() const { return largest.position < 0; }
  /// Makes it the range of both; the order of calls does not matter.
  void merge(const TokenRange& other);
  bool operator==(const TokenRange&) const = default;
};

/// Finds the range of tokens that come as the bytes of a .bin file, in pieces of any size.
class TokenRangeScan {
 public:
  /// The first byte is that of the token at that position.
  TokenRangeScan(TokenType type, std::int64_t position) : type_(type), position_(position) {}

  void add(std::span<const char> bytes);
  const TokenRange& range() const { return range_; }

 private:
  void add_whole(const std::uint8_t* from, std::int64_t tokens);

  TokenType type_;
  std::int64_t position_;
  std::vector<std::uint8_t> part_{};  ///< of a token whose other bytes come with the next piece
  TokenRange range_{};
};

/// Says whether tokens stored so can have ids that are not below vocab_size.
bool may_leave_vocabulary(TokenType type, std::int64_t vocab_size);

/// An empty range is in every vocabulary.
bool is_in_vocabulary(const TokenRange& range, std::int64_t vocab_size);

/// Usage error, the same on all ranks that have the same range: names the file, the id and its position, the size of
/// the vocabulary and what to do. `key`: what the user named the file by.
void expect_in_vocabulary(const TokenFile& file, const TokenRange& range, std::int64_t vocab_size,
                          std::string_view key = "data.train");

}  // namespace octet
