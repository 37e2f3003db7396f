#include "src/data/token_sum.h"

#include <algorithm>
#include <random>

#include "tests/data/support.h"

namespace octet {
namespace {

using test::TempFolder;

constexpr std::uint64_t modulus = (std::uint64_t{1} << 61) - 1;

std::vector<std::uint8_t> random_bytes(std::size_t count) {
  std::mt19937 random(5);
  std::vector<std::uint8_t> bytes(count);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

TokenSum sum_of(TokenType type, std::span<const std::uint8_t> bytes) {
  TokenSum sum;
  sum.add(type, bytes);
  return sum;
}

TEST(TokenSum, IsThatOfItsPiecesWhereverTheyAreCut) {
  for (const TokenType type : {TokenType::u8, TokenType::u16, TokenType::i32}) {
    const auto width = static_cast<std::size_t>(size_of(type));
    const auto bytes = random_bytes(100 * width);
    const TokenSum whole = sum_of(type, bytes);
    EXPECT_LT(whole.value(), modulus);
    EXPECT_EQ(whole.tokens(), 100);
    for (std::size_t cut = 0; cut <= 100; ++cut) {
      const auto first = std::span(bytes).first(cut * width), second = std::span(bytes).subspan(cut * width);
      TokenSum further = sum_of(type, first), joined = further;
      further.add(type, second);
      joined.add(sum_of(type, second));
      EXPECT_EQ(further, whole) << cut;
      EXPECT_EQ(joined, whole) << cut;
    }
  }
}

TEST(TokenSum, IsAnotherOneWhereATokenIs) {
  const auto bytes = random_bytes(400);
  const TokenSum whole = sum_of(TokenType::i32, bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto other = bytes;
    other[i] ^= 0x80;
    EXPECT_NE(sum_of(TokenType::i32, other), whole) << i;
  }
  auto turned = bytes;
  std::rotate(turned.begin(), turned.begin() + 4, turned.end());
  EXPECT_NE(sum_of(TokenType::i32, turned), whole);
  const std::vector<std::uint8_t> most(4000, 0xff);  // the largest products
  TokenSum one_by_one;
  for (int i = 0; i < 1000; ++i) one_by_one.add(TokenType::i32, std::span(most).first(4));
  EXPECT_EQ(sum_of(TokenType::i32, most), one_by_one);
}

/// Side files keep it: another one would make all that were written untrue.
TEST(TokenSum, IsTheSumThatSideFilesHold) {
  const std::vector<std::uint8_t> bytes = {1, 2, 3, 250, 0, 7, 8, 9, 10, 11};
  __extension__ unsigned __int128 expected = 0;
  for (const std::uint8_t byte : bytes) expected = (expected * 0x0b4e6f1d9a3c57e9 + byte) % modulus;
  EXPECT_EQ(sum_of(TokenType::u8, bytes).value(), static_cast<std::uint64_t>(expected));
}

TEST(TokenSum, OfAFileIsReadFromTheDisk) {
  const TempFolder folder;
  const auto id = [](std::int64_t i) { return i % 70'001; };
  test::write_tokens(folder / "x", 700'000, TokenType::i32, id);  // several blocks
  const TokenPair pair(folder / "x");
  std::int64_t bytes = 0;
  const TokensRead read = read_all_tokens(pair, [&](std::int64_t more) { bytes += more; });
  EXPECT_EQ(bytes, 2'800'000);
  EXPECT_EQ(read.sum.tokens(), 700'000);
  EXPECT_EQ(read.range.largest, (TokenAt{70'000, 70'000}));
  const std::string stored = test::read_bytes(folder / "x.bin");
  EXPECT_EQ(read.sum, sum_of(TokenType::i32, {reinterpret_cast<const std::uint8_t*>(stored.data()), stored.size()}));
}

}  // namespace
}  // namespace octet
