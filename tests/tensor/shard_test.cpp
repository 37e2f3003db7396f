#include "src/tensor/shard.h"
#include "tests/support/global_element.h"

#include <gtest/gtest.h>

#include <vector>

namespace octet {
namespace {

TEST(Shard, EvenSplit) {
  const Shard s = Shard::of({8, 5}, 1, 4);
  EXPECT_EQ(s.global, (Shape{8, 5}));
  EXPECT_EQ(s.offset, 2);
  EXPECT_EQ(s.rows, 2);
  EXPECT_EQ(s.padded_rows, 2);
  EXPECT_EQ(s.elements(), 10);
  EXPECT_EQ(test::global_element(s, 0), 10);
}

TEST(Shard, ThreeRanksWithShortLastPiece) {
  const Shape global{7, 2};
  const std::int64_t rows[] = {3, 3, 1}, offsets[] = {0, 3, 6};
  for (int rank = 0; rank < 3; ++rank) {
    const Shard s = Shard::of(global, rank, 3);
    EXPECT_EQ(s.rows, rows[rank]);
    EXPECT_EQ(s.offset, offsets[rank]);
    EXPECT_EQ(s.padded_rows, 3);
    EXPECT_EQ(s.elements(), 2 * rows[rank]);
    EXPECT_EQ(s.padded_elements(), 6);
    EXPECT_EQ(test::global_element(s, 0), 2 * offsets[rank]);
  }
}

TEST(Shard, EmptyLastPieces) {  // 5 rows in 4 pieces of 2: the third is short, the fourth empty
  const std::int64_t rows[] = {2, 2, 1, 0};
  for (int rank = 0; rank < 4; ++rank) {
    const Shard s = Shard::of({5}, rank, 4);
    EXPECT_EQ(s.rows, rows[rank]);
    EXPECT_EQ(s.padded_elements(), 2);
  }
  for (int rank = 0; rank < 8; ++rank) {  // more ranks than rows
    EXPECT_EQ(Shard::of({3, 4}, rank, 8).rows, rank < 3 ? 1 : 0);
    EXPECT_EQ(Shard::of({3, 4}, rank, 8).padded_elements(), 4);
  }
}

TEST(Shard, PiecesLaidEndToEndAreTheTensorWithPaddingAtItsEnd) {
  for (std::int64_t rows = 1; rows <= 20; ++rows) {
    for (int ranks = 1; ranks <= 9; ++ranks) {
      const Shape global{rows, 3, 2};
      std::vector<std::int64_t> laid;  // global element numbers, -1 where padding is
      for (int rank = 0; rank < ranks; ++rank) {
        const Shard s = Shard::of(global, rank, ranks);
        ASSERT_GE(s.rows, 0);
        ASSERT_LE(s.rows, s.padded_rows);
        for (std::int64_t i = 0; i < s.padded_elements(); ++i) {
          laid.push_back(i < s.elements() ? test::global_element(s, 0) + i : -1);
        }
      }
      ASSERT_GE(static_cast<std::int64_t>(laid.size()), global.elements());
      for (std::size_t i = 0; i < laid.size(); ++i) {
        const auto element = static_cast<std::int64_t>(i);
        ASSERT_EQ(laid[i], element < global.elements() ? element : -1) << rows << " rows, " << ranks << " ranks";
      }
      const std::int64_t padding = static_cast<std::int64_t>(laid.size()) - global.elements();
      EXPECT_LT(padding, ranks * global.row_elements()) << "less than one row a rank";
    }
  }
}

}  // namespace
}  // namespace octet
