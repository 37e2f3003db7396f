#include "kernels/sum_parts.h"

#include "kernels/cpu/cpu_kernels.h"
#include "tests/kernels/kernel_test.h"

namespace octet {
namespace {

using namespace test;

template <typename In, typename Out>
void sum_parts(const std::vector<In>& parts, int count, std::vector<Out>& out, bool accumulate) {
  cpu::sum_parts(stream(), {.parts = parts.data(),
                            .dtype = dtype_of<In>::value,
                            .count = count,
                            .n = static_cast<std::int64_t>(out.size()),
                            .out = out.data(),
                            .out_dtype = dtype_of<Out>::value,
                            .accumulate = accumulate});
}

/// The definition, element by element.
template <typename In>
std::vector<float> ordered_sums(const std::vector<In>& parts, int count) {
  std::vector<float> sums(parts.size() / static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i] = static_cast<float>(parts[i]);
    for (std::size_t p = 1; p < static_cast<std::size_t>(count); ++p) {
      sums[i] += static_cast<float>(parts[p * sums.size() + i]);
    }
  }
  return sums;
}

template <typename T>
class SumPartsTest : public testing::Test {};
TYPED_TEST_SUITE(SumPartsTest, Storages);

TYPED_TEST(SumPartsTest, IsTheOrderedSumForAnyShapeAndThreads) {
  using In = TypeParam;
  for (const std::int64_t n : {0, 1, 33, 2048, 5001}) {
    for (const int count : {1, 2, 3, 8}) {
      const auto parts = random_values<In>(count * n, 1);
      const auto sums = ordered_sums(parts, count);
      const auto before = random_values(n, 2);
      auto added = before;
      for (std::size_t i = 0; i < added.size(); ++i) added[i] += sums[i];
      expect_same_bits_for_any_threads([&] {
        std::vector<float> out(sums.size(), nan_f32);
        sum_parts(parts, count, out, false);
        EXPECT_TRUE(same_bits(out, sums)) << count << " parts of " << n;
        return out;
      });
      auto out = before;
      sum_parts(parts, count, out, true);
      EXPECT_TRUE(same_bits(out, added)) << count << " parts of " << n;
      std::vector<bf16> narrow(sums.size(), bf16(nan_f32));
      sum_parts(parts, count, narrow, false);
      EXPECT_TRUE(same_bits(narrow, stored<bf16>(sums))) << count << " parts of " << n;
    }
  }
}

TEST(SumPartsExact, AddsInOrderInFp32AndRoundsOnce) {
  const auto parts = stored<bf16>({0x1p26f, 256, -0.0f, 1, 1, 0, -0x1p26f, 1, 0});
  std::vector<float> out(3, nan_f32);
  sum_parts(parts, 3, out, false);
  EXPECT_TRUE(same_bits(out, std::vector<float>{0, 258, 0}));  // 2^26 + 1 is 2^26 in fp32; in bf16 256 + 1 were 256
  std::vector<bf16> narrow(3);
  sum_parts(parts, 3, narrow, false);
  EXPECT_TRUE(same_bits(narrow, stored<bf16>({0, 258, 0})));
  std::vector<float> one(3);
  sum_parts(stored<float>({-0.0f, nan_f32, infinity_f32}), 1, one, false);
  EXPECT_TRUE(same_bits(one, std::vector<float>{-0.0f, nan_f32, infinity_f32}));
}

TEST(SumPartsExact, AccumulatesInFp32Only) {
  std::vector<bf16> out(2);
  EXPECT_THROW(sum_parts(random_values<bf16>(4, 1), 2, out, true), Error);
}

}  // namespace
}  // namespace octet
