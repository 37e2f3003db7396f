#include "src/device/cpu/stream_copy.h"

#include <gtest/gtest.h>

#include <string>

namespace octet {
namespace {

TEST(StreamCopy, CopiesEveryByteAndNoMore) {
  constexpr std::int64_t longest = (1 << 20) + 200, margin = 130;
  std::string from(longest + margin, '\0');
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 7 + i / 251);
  for (const std::int64_t bytes : {0L, 1L, 63L, 64L, 100'000L, (1L << 18) - 1, 1L << 18, (1L << 18) + 77, longest}) {
    for (const std::size_t to_offset : {0, 1, 16, 63}) {
      for (const std::size_t from_offset : {0, 5, 64}) {
        std::string to(longest + margin, 'x'), expected = to;
        const auto n = static_cast<std::size_t>(bytes);
        expected.replace(to_offset, n, from, from_offset, n);
        stream_copy(to.data() + to_offset, from.data() + from_offset, bytes);
        EXPECT_TRUE(to == expected) << bytes << " bytes to +" << to_offset << " from +" << from_offset;
      }
    }
  }
}

}  // namespace
}  // namespace octet
