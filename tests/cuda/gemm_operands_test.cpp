// What stands for a run's values while algorithms are timed: made by the host alone, so that it is tested without a
// GPU.
#include "kernels/cuda/gemm/gemm_operands.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace octet::cuda {
namespace {

template <typename T>
std::vector<T> filled(std::int64_t count) {
  const auto stream = cpu_device().make_stream();
  std::vector<T> values(static_cast<std::size_t>(count) + 1);
  TrialValues(*stream).fill(values.data(), count * size_of(dtype_of<T>::value), dtype_of<T>::value);
  EXPECT_EQ(static_cast<float>(values.back()), 0.0f) << "behind the end";
  values.pop_back();
  return values;
}

/// Normal with that deviation, to a thousandth of it, and with nothing that is not finite.
template <typename T>
void expect_normal(double deviation) {
  constexpr std::int64_t count = (5 << 20) / 2 + 3;  // several blocks, the last of them cut
  double sum = 0, squares = 0, beyond = 0;
  for (const T value : filled<T>(count)) {
    const double x = static_cast<float>(value);
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
    if (std::abs(x) > deviation) ++beyond;
  }
  EXPECT_NEAR(sum / count, 0, 5e-3 * deviation);
  EXPECT_NEAR(std::sqrt(squares / count), deviation, 1e-2 * deviation);
  EXPECT_NEAR(beyond / count, 0.317, 0.02);
}

TEST(TrialValues, AreDistributedAsInARun) {
  expect_normal<float>(1);
  expect_normal<bf16>(1);
  expect_normal<e4m3>(e4m3::max / 6);
  expect_normal<e5m2>(e5m2::max / 6);
}

TEST(TrialValues, ScalesAreAllTheSame) {
  const auto stream = cpu_device().make_stream();
  std::vector<float> scales(300'001);  // more than a block
  TrialValues(*stream).fill_scales(scales.data(), std::ssize(scales) - 1);
  EXPECT_EQ(scales.back(), 0.0f);
  for (std::size_t i = 0; i + 1 < scales.size(); ++i) ASSERT_EQ(scales[i], 6 / e4m3::max) << i;
}

}  // namespace
}  // namespace octet::cuda
