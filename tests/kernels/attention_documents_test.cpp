// Attention of rows that hold several documents.
#include <array>

#include "kernels/cpu/attention/attention_onednn.h"
#include "tests/kernels/attention_reference.h"

namespace octet {
namespace {

using namespace test;
using namespace test::attention;

struct DocumentsInBf16 : WayOfBf16 {};
INSTANTIATE_TEST_SUITE_P(Ways, DocumentsInBf16, both_ways(), name_of_way);

template <typename T>
void compare_documents(double tolerance) {
  const std::vector<std::vector<std::int64_t>> packings = {{1}, {3, 1, 7}, {64}, {63, 65, 1}, {150, 2}, {1, 199}};
  for (const AttentionShape& s : shapes) {
    for (const std::vector<std::int64_t>& lengths : packings) {
      SCOPED_TRACE(testing::Message() << "seq " << s.seq << " heads " << s.heads << "/" << s.kv_heads << " dim "
                                      << s.head_dim << ", first document of " << lengths[0]);
      const Inputs<T> in(s);
      const std::vector<std::int32_t> begin = documents_of(s, lengths);
      const Result<T> got = run(s, in.q, in.k, in.v, in.d_o, begin);
      const Reference want = reference(s, widened(in.q), widened(in.k), widened(in.v), widened(in.d_o), begin);
      EXPECT_LT(relative_error(widened(got.o), want.o), tolerance);
      EXPECT_LT(relative_error(widened(got.dv), want.dv), tolerance);
      for (std::size_t i = 0; i < want.log_sum_exp.size(); ++i) {
        ASSERT_NEAR(static_cast<double>(got.log_sum_exp[i]), want.log_sum_exp[i],
                    2e-6 * (1 + std::abs(want.log_sum_exp[i])));
      }
      if (lengths[0] == 1 || s.seq == 1) continue;  // dq and dk of one key are zero
      EXPECT_LT(relative_error(widened(got.dq), want.dq), 2 * tolerance);
      EXPECT_LT(relative_error(widened(got.dk), want.dk), 2 * tolerance);
    }
  }
}

TEST(Attention, F32StaysWithinItsDocuments) {
  compare_documents<float>(1e-6);
}

TEST_P(DocumentsInBf16, StaysWithinThem) {
  compare_documents<bf16>(4e-3);
}

TEST(Attention, DocumentsOfOneTokenAreTheirValuesAndHaveNoGradientOfTheirScores) {
  const AttentionShape s = shape(1, 130, 2, 2, 32);
  const Inputs<float> in(s);
  const Result<float> got = run(s, in.q, in.k, in.v, in.d_o, documents_of(s, {1}));
  EXPECT_LT(relative_error(widened(got.o), widened(in.v)), 1e-6);
  EXPECT_LT(relative_error(widened(got.dv), widened(in.d_o)), 1e-6);
  for (const float x : got.dq) ASSERT_NEAR(x, 0.0f, 1e-5);
  for (const float x : got.dk) ASSERT_NEAR(x, 0.0f, 1e-5);
}

TEST_P(DocumentsInBf16, OneARowHasTheBitsOfNone) {
  const AttentionShape s = shape(2, 127, 4, 2, 64);
  const Inputs<bf16> in(s);
  const Result<bf16> with = run(s, in.q, in.k, in.v, in.d_o, documents_of(s, {127}));
  const Result<bf16> without = run(s, in.q, in.k, in.v, in.d_o);
  EXPECT_EQ(std::memcmp(with.o.data(), without.o.data(), with.o.size() * 2), 0);
  EXPECT_EQ(std::memcmp(with.dq.data(), without.dq.data(), with.dq.size() * 2), 0);
  EXPECT_EQ(std::memcmp(with.dk.data(), without.dk.data(), with.dk.size() * 2), 0);
  EXPECT_EQ(std::memcmp(with.dv.data(), without.dv.data(), with.dv.size() * 2), 0);
}

constexpr std::int64_t tile = 64;  // of queries and of keys

/// What kernels may touch where row 0 holds these documents: tiles of keys that some query of a block of tiles sees.
struct SeenTiles {
  const std::vector<std::int32_t>& begin;
  std::int64_t block;  ///< tiles of queries that are computed together
  bool operator()(std::int64_t queries, std::int64_t keys) const {
    const std::int64_t first = queries / block * block;
    return keys < first + block && begin[static_cast<std::size_t>(first * tile)] < (keys + 1) * tile;
  }
};

template <typename T>
std::vector<T> with_nans(std::vector<T> x, std::int64_t of_tile, std::int64_t row_size) {
  std::fill_n(x.begin() + of_tile * tile * row_size, tile * row_size, T(nan_f32));
  return x;
}

/// The tokens of a tile of row 0.
template <typename T>
std::vector<T> in_tile(const std::vector<T>& x, std::int64_t index, std::int64_t row_size) {
  const auto first = x.begin() + index * tile * row_size;
  return {first, first + tile * row_size};
}

/// Masked scores would still multiply: zero times NaN is NaN. So each tile of tokens in turn is made of NaN, and what
/// no query sees together with it keeps its bits.
template <typename T>
void expect_other_tiles_unread(const std::vector<std::int64_t>& lengths) {
  const AttentionShape s = shape(2, 5 * tile, 4, 2, 64);
  const std::int64_t queries = s.heads * s.head_dim, keys = s.kv_heads * s.head_dim;
  const Inputs<T> in(s);
  const std::vector<std::int32_t> begin = documents_of(s, lengths);
  const bool by_onednn = cpu::attention::takes_onednn({.dtype = dtype_of<T>::value});
  const SeenTiles sees{begin, by_onednn ? cpu::attention::block_queries / tile : 1};
  const Result<T> clean = run(s, in.q, in.k, in.v, in.d_o, begin);
  int untouched = 0;
  for (std::int64_t bad = 0; bad < 5; ++bad) {
    const Result<T> got = run(s, with_nans(in.q, bad, queries), with_nans(in.k, bad, keys), with_nans(in.v, bad, keys),
                              with_nans(in.d_o, bad, queries), begin);
    for (std::int64_t t = 0; t < 5; ++t) {
      SCOPED_TRACE(testing::Message() << "first document of " << lengths[0] << ", NaN in tile " << bad << ", tile "
                                      << t);
      bool shares_queries = false;  // a query tile that sees both: its NaN goes into the gradients of all its keys
      for (std::int64_t i = 0; i < 5; ++i) shares_queries |= sees(i, bad) && sees(i, t);
      if (!sees(t, bad)) {
        EXPECT_TRUE(same_bits(in_tile(got.o, t, queries), in_tile(clean.o, t, queries)));
        EXPECT_TRUE(same_bits(in_tile(got.dq, t, queries), in_tile(clean.dq, t, queries)));
        untouched += t > bad;
      }
      if (!shares_queries) {
        EXPECT_TRUE(same_bits(in_tile(got.dk, t, keys), in_tile(clean.dk, t, keys)));
        EXPECT_TRUE(same_bits(in_tile(got.dv, t, keys), in_tile(clean.dv, t, keys)));
      }
    }
    EXPECT_TRUE(std::isnan(static_cast<float>(in_tile(got.o, bad, queries)[0])));
  }
  EXPECT_GT(untouched, 0) << "later tiles of other documents";
}

const std::vector<std::vector<std::int64_t>> over_tiles{{128, 64}, {100, 90}, {64}, {1, 70}};

TEST(Attention, DoesNotReadTilesOfOtherDocuments) {
  for (const std::vector<std::int64_t>& lengths : over_tiles) expect_other_tiles_unread<float>(lengths);
}

TEST_P(DocumentsInBf16, TilesOfOthersAreNotRead) {
  for (const std::vector<std::int64_t>& lengths : over_tiles) expect_other_tiles_unread<bf16>(lengths);
}

}  // namespace
}  // namespace octet
