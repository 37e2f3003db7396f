#include "kernels/rope.h"

#include "kernels/cpu/cpu_kernels.h"
#include "tests/kernels/kernel_test.h"

namespace octet {
namespace {

using namespace test;

struct Sizes {
  std::int64_t batch, seq, heads, head_dim;
  std::int64_t elements() const { return batch * seq * heads * head_dim; }
};

struct Angles {
  std::vector<float> cos, sin;
};

Angles angles_of(const Sizes& s) {
  Angles a;
  for (std::int64_t position = 0; position < s.seq; ++position) {
    for (std::int64_t i = 0; i < s.head_dim / 2; ++i) {
      const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(s.head_dim);
      const double angle = static_cast<double>(position) * std::pow(500000.0, exponent);
      a.cos.push_back(static_cast<float>(std::cos(angle)));
      a.sin.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  return a;
}

template <typename T>
std::vector<T> rotated(std::vector<T> x, const Sizes& s, const Angles& a, bool inverse = false,
                       StatsProbe* stats = nullptr) {
  cpu::rope(stream(), {.q = {.x = x.data(), .count = s.heads, .stats = stats ? stats->out() : StatsOut{}},
                       .dtype = dtype_of<T>::value,
                       .batch = s.batch,
                       .seq = s.seq,
                       .head_dim = s.head_dim,
                       .cos = a.cos.data(),
                       .sin = a.sin.data(),
                       .inverse = inverse});
  return x;
}

template <typename T>
class RopeTest : public testing::Test {};
TYPED_TEST_SUITE(RopeTest, Storages);

TYPED_TEST(RopeTest, PositionsAreCountedFromTheBeginningOfTheDocument) {
  using T = TypeParam;
  const Sizes row{1, 7, 2, 8}, documents{1, 4, 2, 8};
  const Angles a = angles_of(row);
  std::vector<T> x = stored<T>(random_values(row.elements(), 1)), y = x;
  const std::vector<std::int32_t> begin = {0, 0, 0, 3, 3, 3, 3};  // of 3 tokens and of 4
  cpu::rope(stream(), {.q = {.x = y.data(), .count = row.heads, .stats = {}},
                       .dtype = dtype_of<T>::value,
                       .batch = 1,
                       .seq = row.seq,
                       .head_dim = row.head_dim,
                       .cos = a.cos.data(),
                       .sin = a.sin.data(),
                       .document_begin = begin.data()});
  const auto second = x.begin() + 3 * 16;
  const std::vector<T> alone = rotated(std::vector<T>(second, x.end()), documents, a);
  EXPECT_EQ(widened(std::vector<T>(y.begin() + 3 * 16, y.end())), widened(alone));
  const std::vector<T> first = rotated(std::vector<T>(x.begin(), second), {1, 3, 2, 8}, a);
  EXPECT_EQ(widened(std::vector<T>(y.begin(), y.begin() + 3 * 16)), widened(first));
}

TYPED_TEST(RopeTest, QuarterTurnsMoveHalvesOfAHead) {
  using T = TypeParam;
  const Sizes s{2, 2, 2, 4};
  const Angles a{{1, 1, 0, 0}, {0, 0, 1, -1}};  // position 0 stays; position 1 turns by +90 and -90 degrees
  std::vector<float> x(static_cast<std::size_t>(s.elements()));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
  const auto y = rotated(stored<T>(x), s, a);
  for (std::size_t head = 0; head < 8; ++head) {
    const std::size_t at = head * 4;
    const bool turned = head / 2 % 2 == 1;
    EXPECT_EQ(static_cast<float>(y[at]), turned ? -x[at + 2] : x[at]);
    EXPECT_EQ(static_cast<float>(y[at + 2]), turned ? x[at] : x[at + 2]);
    EXPECT_EQ(static_cast<float>(y[at + 1]), turned ? x[at + 3] : x[at + 1]);
    EXPECT_EQ(static_cast<float>(y[at + 3]), turned ? -x[at + 1] : x[at + 3]);
  }
  EXPECT_TRUE(same_bits(rotated(y, s, a, true), stored<T>(x)));
}

TYPED_TEST(RopeTest, QueriesAndKeysAtOnceAsEachAlone) {
  using T = TypeParam;
  const Sizes queries{2, 5, 6, 8}, keys{2, 5, 2, 8};
  const Angles a = angles_of(queries);
  auto q = random_values<T>(queries.elements(), 1), k = random_values<T>(keys.elements(), 2);
  const auto q_alone = rotated(q, queries, a), k_alone = rotated(k, keys, a);
  StatsProbe q_stats, k_stats;
  Rope args{.q = {.x = q.data(), .count = queries.heads, .stats = q_stats.out()},
            .k = {.x = k.data(), .count = keys.heads, .stats = k_stats.out()},
            .dtype = dtype_of<T>::value,
            .batch = queries.batch,
            .seq = queries.seq,
            .head_dim = queries.head_dim,
            .cos = a.cos.data(),
            .sin = a.sin.data()};
  EXPECT_EQ(args.bytes_moved(), 2 * (queries.elements() + keys.elements()) * static_cast<std::int64_t>(sizeof(T)) +
                                    queries.seq * queries.head_dim * 4);
  cpu::rope(stream(), args);
  EXPECT_TRUE(same_bits(q, q_alone));
  EXPECT_TRUE(same_bits(k, k_alone));
  q_stats.expect_of(q);
  k_stats.expect_of(k);
  args.q = {};  // keys alone; the queries' statistics stay
  args.inverse = true;
  cpu::rope(stream(), args);
  EXPECT_TRUE(same_bits(q, q_alone));
  EXPECT_TRUE(same_bits(k, rotated(k_alone, keys, a, true)));
  q_stats.expect_of(q);
}

TYPED_TEST(RopeTest, TheFloat8FormIsWrittenInPlaceOfTheResult) {
  using T = TypeParam;
  const Sizes queries{2, 5, 3, 6}, keys{2, 5, 1, 6};
  const Angles a = angles_of(queries);
  const auto q_before = random_values<T>(queries.elements(), 1);
  auto q = q_before, k = random_values<T>(keys.elements(), 2);
  const auto k_alone = rotated(k, keys, a, true);
  const float scale = 30.0f;
  std::vector<e5m2> expected, codes(q.size()), turned(q.size()), expected_turned(q.size());
  StatsProbe plain_stats, stats;
  for (const T y : rotated(q, queries, a, true, &plain_stats)) expected.push_back(e5m2(static_cast<float>(y) * scale));
  Rope args{.q = {.x = q.data(),
                  .count = queries.heads,
                  .stats = stats.out(),
                  .float8 = {.y = codes.data(), .format = DType::e5m2, .scale = &scale}},
            .k = {.x = k.data(), .count = keys.heads, .stats = {}},
            .dtype = dtype_of<T>::value,
            .batch = queries.batch,
            .seq = queries.seq,
            .head_dim = queries.head_dim,
            .cos = a.cos.data(),
            .sin = a.sin.data(),
            .inverse = true};
  cpu::rope(stream(), args);
  EXPECT_TRUE(same_bits(codes, expected));
  EXPECT_TRUE(same_bits(q, q_before)) << "it is read alone";
  EXPECT_EQ(stats.amax, plain_stats.amax);
  EXPECT_TRUE(same_bits(k, k_alone)) << "has no float8 form";
  EXPECT_EQ(args.bytes_moved(), queries.elements() * (size_of(args.dtype) + 1) +
                                    keys.elements() * 2 * size_of(args.dtype) + queries.seq * queries.head_dim * 4);
  const std::int64_t before = args.bytes_moved();
  args.q.float8.y_transposed = turned.data();
  args.k = {};
  cpu::rope(stream(), args);
  const std::size_t tokens = 10, columns = 18;
  for (std::size_t i = 0; i < expected.size(); ++i) expected_turned[i % columns * tokens + i / columns] = expected[i];
  EXPECT_TRUE(same_bits(codes, expected));
  EXPECT_TRUE(same_bits(turned, expected_turned));
  EXPECT_EQ(args.bytes_moved(), before + queries.elements() - keys.elements() * 2 * size_of(args.dtype));
}

TYPED_TEST(RopeTest, AgreesWithDoubleReferenceAndInverts) {
  using T = TypeParam;
  for (const Sizes& s : {Sizes{1, 1, 1, 2}, Sizes{2, 5, 3, 6}, Sizes{2, 9, 2, 64}, Sizes{1, 7, 1, 34}}) {
    const auto x = random_values<T>(s.elements(), 1);
    const Angles a = angles_of(s);
    const std::int64_t half = s.head_dim / 2;
    std::vector<double> expected(x.size());
    for (std::int64_t i = 0; i < s.elements(); ++i) {
      const std::int64_t in_head = i % s.head_dim, pair = in_head % half, position = i / (s.heads * s.head_dim) % s.seq;
      const auto angle = static_cast<std::size_t>(position * half + pair);
      const double sign = in_head < half ? -1.0 : 1.0;
      const std::int64_t partner = in_head < half ? i + half : i - half;
      expected[static_cast<std::size_t>(i)] =
          static_cast<double>(x[static_cast<std::size_t>(i)]) * static_cast<double>(a.cos[angle]) +
          sign * static_cast<double>(x[static_cast<std::size_t>(partner)]) * static_cast<double>(a.sin[angle]);
    }
    StatsProbe stats;
    const auto y = rotated(x, s, a, false, &stats);
    EXPECT_LT(relative_error(y, expected), storage_tolerance<T>());
    stats.expect_of(y);
    EXPECT_LT(relative_error(rotated(y, s, a, true), x), 2 * storage_tolerance<T>());
  }
}

TYPED_TEST(RopeTest, CountsNonFiniteAndKeepsBitsForAnyThreads) {
  using T = TypeParam;
  const Sizes s{3, 11, 2, 20};
  const Angles a = angles_of(s);
  auto x = random_values<T>(s.elements(), 1);
  expect_same_bits_for_any_threads([&] { return rotated(x, s, a); });
  x[25] = T(infinity_f32);
  x[500] = T(nan_f32);
  StatsProbe stats;
  const auto y = rotated(x, s, a, false, &stats);
  EXPECT_GE(stats.non_finite, 5u + 3u);
  stats.expect_of(y);
}

TEST(RopeGradient, InverseAgreesWithFiniteDifferences) {
  const Sizes s{1, 3, 2, 6};
  const Angles a = angles_of(s);
  auto x = random_values(s.elements(), 1);
  const auto dy = random_values(s.elements(), 2);
  const auto numeric = central_differences(x, 0.125f, [&] { return weighted_sum(rotated(x, s, a), dy); });
  EXPECT_LT(relative_error(rotated(dy, s, a, true), numeric), 1e-5);
}

}  // namespace
}  // namespace octet
