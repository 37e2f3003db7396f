#include "src/data/token_sum.h"

#include <array>
#include <vector>

#include "src/base/read_file.h"

namespace octet {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t modulus = (std::uint64_t{1} << 61) - 1;
constexpr std::uint64_t base = 0x0b4e'6f1d'9a3c'57e9;

/// Of any number below 2^125.
constexpr std::uint64_t reduced(Wide number) {
  const auto low = static_cast<std::uint64_t>(number & modulus), high = static_cast<std::uint64_t>(number >> 61);
  std::uint64_t sum = low + (high & modulus) + (high >> 61);
  if (sum >= modulus) sum -= modulus;
  return sum >= modulus ? sum - modulus : sum;
}

constexpr std::uint64_t power(std::uint64_t of, std::int64_t exponent) {
  std::uint64_t result = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) result = reduced(Wide{result} * of);
    of = reduced(Wide{of} * of);
  }
  return result;
}

/// Tokens between two reductions, which wait for each other; the products between them do not.
constexpr std::size_t together = 8;
constexpr auto powers = [] {
  std::array<std::uint64_t, together + 1> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = power(base, static_cast<std::int64_t>(i));
  return all;
}();

template <typename T>
std::uint64_t sum_behind(std::uint64_t value, const std::uint8_t* from, std::size_t tokens) {
  std::size_t i = 0;
  for (; i + together <= tokens; i += together) {
    Wide sum = Wide{value} * powers[together];
    for (std::size_t j = 0; j < together; ++j) {
      sum += Wide{powers[together - 1 - j]} * load_unaligned<T>(from + (i + j) * sizeof(T));
    }
    value = reduced(sum);
  }
  for (; i < tokens; ++i) value = reduced(Wide{value} * base + load_unaligned<T>(from + i * sizeof(T)));
  return value;
}

}  // namespace

void TokenSum::add(TokenType type, std::span<const std::uint8_t> bytes) {
  const std::size_t tokens = bytes.size() / static_cast<std::size_t>(size_of(type));
  value_ = type == TokenType::u8    ? sum_behind<std::uint8_t>(value_, bytes.data(), tokens)
           : type == TokenType::u16 ? sum_behind<std::uint16_t>(value_, bytes.data(), tokens)
                                    : sum_behind<std::uint32_t>(value_, bytes.data(), tokens);
  tokens_ += static_cast<std::int64_t>(tokens);
}

void TokenSum::add(const TokenSum& behind) {
  value_ = reduced(Wide{value_} * power(base, behind.tokens_) + behind.value_);
  tokens_ += behind.tokens_;
}

TokensRead read_all_tokens(const TokenPair& pair, const std::function<void(std::int64_t)>& progress) {
  TokensRead read;
  TokenRangeScan scan(pair.type(), 0);
  const auto width = static_cast<std::size_t>(size_of(pair.type()));
  std::vector<std::uint8_t> bytes;  // with the beginning of a token whose end comes with the next block
  files::InputFile(pair.bin_path()).read_blocks([&](std::span<const char> block) {
    scan.add(block);
    bytes.insert(bytes.end(), block.begin(), block.end());
    const std::size_t whole = bytes.size() / width * width;
    read.sum.add(pair.type(), std::span(bytes).first(whole));
    bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(whole));
    progress(static_cast<std::int64_t>(block.size()));
  });
  read.range = scan.range();
  return read;
}

}  // namespace octet
