#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "src/data/token_pair.h"
#include "src/data/token_range.h"
#include "src/data/token_type.h"

namespace octet {

/// A sum over all ids of a stream of tokens in which each id is weighted by its place: the sum of id · b^(tokens behind
/// it) modulo 2^61 - 1. The sum of a stream follows from those of its pieces, so that the parts of `octet prepare` need
/// not be read again when they are joined. It distinguishes streams of the same length, unless they were made to have
/// the same sum. It does not depend on how ids are stored, except that negative ids count as their bytes read as
/// unsigned.
class TokenSum {
 public:
  TokenSum() = default;
  /// As value() and tokens() of another one.
  TokenSum(std::uint64_t value, std::int64_t tokens) : value_(value), tokens_(tokens) {}

  /// The stream's next tokens as a .bin file stores them; whole ones.
  void add(TokenType type, std::span<const std::uint8_t> bytes);
  /// A whole stream that comes behind it.
  void add(const TokenSum& behind);

  std::uint64_t value() const { return value_; }
  std::int64_t tokens() const { return tokens_; }
  bool operator==(const TokenSum&) const = default;

 private:
  std::uint64_t value_ = 0;  ///< below 2^61 - 1
  std::int64_t tokens_ = 0;
};

/// What is read from a .bin file.
struct TokensRead {
  TokenRange range{};
  TokenSum sum{};
};

/// Reads all tokens of a pair from the disk. `progress` hears of bytes, and may throw to stop. Throws files::ReadError.
TokensRead read_all_tokens(const TokenPair& pair, const std::function<void(std::int64_t)>& progress);

}  // namespace octet
