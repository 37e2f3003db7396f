#include "kernels/cpu/parts/stats_fold.h"

#include <limits>

#include "tests/kernels/kernel_test.h"

namespace octet {
namespace {

using namespace test;

struct Found {
  float amax = 0.0f;
  std::uint32_t non_finite = 0;
};

template <typename T>
Found find(const std::vector<T>& x) {
  Found found;
  cpu::stats(stream(),
             {x.data(), dtype_of<T>::value, static_cast<std::int64_t>(x.size()), {&found.amax, &found.non_finite}});
  return found;
}

template <typename T>
class StatsTest : public testing::Test {};
TYPED_TEST_SUITE(StatsTest, Storages);

TYPED_TEST(StatsTest, LargestMagnitudeWhereverItStands) {
  for (const std::int64_t n : {1, 7, 64, 1000, 100003}) {
    const auto x = stored<TypeParam>(random_values(n, 5));
    for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
      auto y = x;
      y[static_cast<std::size_t>(at)] = TypeParam(-100.5f);
      EXPECT_EQ(find(y).amax, 100.5f) << n << " at " << at;
      EXPECT_EQ(find(y).non_finite, 0u);
    }
  }
}

TYPED_TEST(StatsTest, NanWinsOverInfinityAndBothAreCounted) {
  auto x = stored<TypeParam>(random_values(70001, 6));
  x[5] = TypeParam(infinity_f32);
  x[69999] = TypeParam(-infinity_f32);
  EXPECT_EQ(find(x).amax, infinity_f32);
  EXPECT_EQ(find(x).non_finite, 2u);
  x[40000] = TypeParam(-nan_f32);
  EXPECT_TRUE(std::isnan(find(x).amax));
  EXPECT_EQ(find(x).non_finite, 3u);
}

TYPED_TEST(StatsTest, SubnormalsCount) {
  std::vector<TypeParam> x(100);
  const float tiny = std::is_same_v<TypeParam, float> ? 1e-45f : 0x1p-133f;
  x[77] = TypeParam(-tiny);
  EXPECT_EQ(find(x).amax, tiny);
}

TYPED_TEST(StatsTest, SameForAnyThreadCount) {
  auto x = stored<TypeParam>(random_values(200000, 7));
  for (std::size_t i = 0; i < x.size(); i += 1000) x[i] = TypeParam(infinity_f32);
  for (const int n : {1, 2, 3}) {
    const Threads threads(n);
    EXPECT_EQ(find(x).amax, infinity_f32);
    EXPECT_EQ(find(x).non_finite, 200u);
  }
}

TEST(Stats, CountIsAddedAmaxIsRaisedNullIsSkipped) {
  const std::vector<float> x = {1.0f, -2.0f, infinity_f32, nan_f32};
  float amax = 1.5f;
  std::uint32_t count = 40;
  cpu::stats(stream(), {x.data(), DType::f32, 1, {&amax, nullptr}});
  EXPECT_EQ(amax, 1.5f);
  cpu::stats(stream(), {x.data(), DType::f32, 2, {&amax, nullptr}});
  EXPECT_EQ(amax, 2.0f);
  cpu::stats(stream(), {x.data(), DType::f32, 3, {nullptr, &count}});
  EXPECT_EQ(count, 41u);
  cpu::stats(stream(), {x.data(), DType::f32, 3, {}});
  cpu::stats(stream(), {x.data(), DType::f32, 0, {&amax, &count}});
  EXPECT_EQ(amax, 2.0f);
  EXPECT_EQ(count, 41u);
  cpu::stats(stream(), {x.data(), DType::f32, 4, {&amax, nullptr}});
  cpu::stats(stream(), {x.data(), DType::f32, 3, {&amax, nullptr}});
  EXPECT_TRUE(std::isnan(amax)) << "NaN is above infinity";
}

/// A count that wrapped could be 0, and what it counts would go unnamed.
TEST(Stats, CountStopsAtTheLargest) {
  constexpr std::uint32_t largest = std::numeric_limits<std::uint32_t>::max();
  cpu::StatsFold a, b;
  a.non_finite = largest - 3;
  b.non_finite = 2;
  a.merge(b);
  EXPECT_EQ(a.non_finite, largest - 1);
  a.merge(b);
  EXPECT_EQ(a.non_finite, largest);
  a.add(nan_f32);
  EXPECT_EQ(a.non_finite, largest);

  const std::vector<float> x(50000, nan_f32);  // in several blocks
  const auto n = static_cast<std::int64_t>(x.size());
  a.add(x.data(), n);
  EXPECT_EQ(a.non_finite, largest);
  std::uint32_t count = largest - 50001, squares = count;
  float sum = 0;
  for (const std::uint32_t expected : {largest - 1, largest, largest}) {
    cpu::stats(stream(), {x.data(), DType::f32, n, {nullptr, &count}});
    EXPECT_EQ(count, expected);
    cpu::sum_of_squares(stream(), {.x = x.data(), .n = n, .out = &sum, .non_finite = &squares});
    EXPECT_EQ(squares, expected);
  }
}

TEST(Stats, FoldByValueIsFoldByArray) {
  std::vector<float> x = random_values(1003, 8);
  x[9] = nan_f32;
  cpu::StatsFold one, all, half;
  for (const float v : x) one.add(v);
  all.add(x.data(), 500);
  half.add(x.data() + 500, 503);
  all.merge(half);
  EXPECT_EQ(one.max_bits, all.max_bits);
  EXPECT_EQ(one.non_finite, all.non_finite);
  EXPECT_EQ(one.non_finite, 1u);
}

}  // namespace
}  // namespace octet
