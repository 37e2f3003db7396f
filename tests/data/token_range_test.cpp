#include "src/data/token_range.h"

#include <algorithm>

#include "src/data/sampler.h"
#include "tests/data/support.h"

namespace octet {
namespace {

using test::error_of;
using test::read_bytes;
using test::TempFolder;
using test::write_tokens;

/// The range by a plain loop.
TokenRange plain(const std::vector<std::int64_t>& ids) {
  TokenRange range;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const TokenAt here{ids[i], static_cast<std::int64_t>(i)};
    if (range.is_empty() || here.id < range.smallest.id) range.smallest = here;
    if (range.is_empty() || here.id > range.largest.id) range.largest = here;
  }
  return range;
}

std::string bytes_of(const std::vector<std::int64_t>& ids, TokenType type) {
  std::string bytes;
  for (const std::int64_t id : ids) {
    bytes.append(reinterpret_cast<const char*>(&id), static_cast<std::size_t>(size_of(type)));
  }
  return bytes;
}

TEST(TokenRange, IsThatOfAPlainLoopForPiecesOfAnySize) {
  const std::vector<std::vector<std::int64_t>> streams = {
      {7}, {3, 3, 3}, {200, 1, 255, 0, 255, 0, 9, 31}, {5, 4, 3, 2, 1}, {1, 2, 3, 4, 5}};
  for (const auto& ids : streams) {
    for (const TokenType type : {TokenType::u8, TokenType::u16, TokenType::i32}) {
      const std::string bytes = bytes_of(ids, type);
      for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
        TokenRangeScan scan(type, 0);
        for (std::size_t at = 0; at < bytes.size(); at += piece) {
          scan.add({bytes.data() + at, std::min(piece, bytes.size() - at)});
        }
        EXPECT_EQ(scan.range(), plain(ids)) << name_of(type) << ", pieces of " << piece;
      }
    }
  }
  TokenRangeScan wide(TokenType::i32, 10);
  const std::string bytes = bytes_of({-1, 2147483647, 5}, TokenType::i32);
  wide.add(bytes);
  EXPECT_EQ(wide.range(), (TokenRange{.smallest = {-1, 10}, .largest = {2147483647, 11}}));
}

TEST(TokenRange, OfPartsIsThatOfTheWhole) {
  const std::vector<std::int64_t> ids = {5, 9, 2, 9, 2, 7, 0, 0, 9};
  for (std::size_t cut = 0; cut <= ids.size(); ++cut) {
    const std::string bytes = bytes_of(ids, TokenType::u16);
    TokenRangeScan first(TokenType::u16, 0), second(TokenType::u16, static_cast<std::int64_t>(cut));
    first.add({bytes.data(), 2 * cut});
    second.add({bytes.data() + 2 * cut, bytes.size() - 2 * cut});
    TokenRange forwards = first.range(), backwards = second.range();
    forwards.merge(second.range());
    backwards.merge(first.range());
    EXPECT_EQ(forwards, plain(ids)) << cut;
    EXPECT_EQ(backwards, plain(ids)) << cut;
  }
}

TEST(TokenRange, OnlyTypesWithRoomForMoreAreLookedAt) {
  EXPECT_FALSE(may_leave_vocabulary(TokenType::u8, 256));
  EXPECT_TRUE(may_leave_vocabulary(TokenType::u8, 255));
  EXPECT_FALSE(may_leave_vocabulary(TokenType::u16, 128256));
  EXPECT_TRUE(may_leave_vocabulary(TokenType::u16, 65535));
  EXPECT_TRUE(may_leave_vocabulary(TokenType::i32, std::int64_t{1} << 31));  // negative ones
}

TEST(TokenRange, WhatIsWrongIsToldWithWhereItIs) {
  const TempFolder folder;
  write_tokens(folder / "x", 40, TokenType::i32, [](std::int64_t i) { return i == 31 ? 128256 : 3; });
  const TokenFile file(folder / "x");
  TokenRangeScan scan(file.type(), 0);
  scan.add(read_bytes(folder / "x.bin"));
  EXPECT_NO_THROW(expect_in_vocabulary(file, scan.range(), 128257));
  const std::string high = error_of([&] { expect_in_vocabulary(file, scan.range(), 128256); });
  EXPECT_HAS(high, "x.bin: its largest token id is 128256, at position 31 of 40; expected ids from 0 to 128255");
  const std::string low = error_of([&] { expect_in_vocabulary(file, {.smallest = {-2, 4}, .largest = {9, 1}}, 10); });
  EXPECT_HAS(low, "its smallest token id is -2, at position 4 of 40; expected ids from 0 to 9");
  EXPECT_NO_THROW(expect_in_vocabulary(file, {}, 1));
}

}  // namespace
}  // namespace octet
