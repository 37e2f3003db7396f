#include "kernels/rmsnorm.h"

#include "kernels/cpu/cpu_kernels.h"
#include "tests/kernels/kernel_test.h"

namespace octet {
namespace {

using namespace test;

constexpr std::int64_t row_shapes[][2] = {{1, 1}, {1, 64}, {3, 7}, {5, 33}, {65, 100}, {33, 256}};

template <typename T>
struct Forward {
  std::vector<T> sum, y;
  std::vector<float> inverse_rms;
  StatsProbe stats;
};

template <typename T>
Forward<T> normalize(const std::vector<T>& residual, const std::vector<T>* branch, const std::vector<T>& weight,
                     float eps = 1e-5f) {
  Forward<T> r{residual, std::vector<T>(residual.size()), {}, {}};
  const auto dim = static_cast<std::int64_t>(weight.size()), rows = static_cast<std::int64_t>(residual.size()) / dim;
  r.inverse_rms.resize(static_cast<std::size_t>(rows));
  cpu::add_rmsnorm_forward(stream(), {.residual = residual.data(),
                                      .branch = branch ? branch->data() : nullptr,
                                      .weight = weight.data(),
                                      .sum = branch ? r.sum.data() : nullptr,
                                      .y = r.y.data(),
                                      .inverse_rms = r.inverse_rms.data(),
                                      .dtype = dtype_of<T>::value,
                                      .rows = rows,
                                      .dim = dim,
                                      .eps = eps,
                                      .stats = r.stats.out()});
  return r;
}

template <typename T>
std::vector<double> reference_rmsnorm(const std::vector<T>& x, const std::vector<T>& weight, double eps) {
  const std::size_t dim = weight.size();
  std::vector<double> y(x.size());
  for (std::size_t row = 0; row < x.size(); row += dim) {
    double squares = 0;
    for (std::size_t i = 0; i < dim; ++i) squares += static_cast<double>(x[row + i]) * static_cast<double>(x[row + i]);
    const double r = 1.0 / std::sqrt(squares / static_cast<double>(dim) + eps);
    for (std::size_t i = 0; i < dim; ++i) {
      y[row + i] = static_cast<double>(x[row + i]) * r * static_cast<double>(weight[i]);
    }
  }
  return y;
}

template <typename T>
class RmsNorm : public testing::Test {};
TYPED_TEST_SUITE(RmsNorm, Storages);

TYPED_TEST(RmsNorm, ExactCase) {
  using T = TypeParam;
  const auto branch = stored<T>({1, 1, -3, 1, 1, 1, 1, 1});
  const auto r = normalize(stored<T>({1, 1, 1, 1, 3, 3, -5, -5}), &branch, stored<T>({1, 2, 3, -4}), 0.0f);
  EXPECT_TRUE(same_bits(r.sum, stored<T>({2, 2, -2, 2, 4, 4, -4, -4})));
  EXPECT_TRUE(same_bits(r.y, stored<T>({1, 2, -3, -4, 1, 2, -3, 4})));
  EXPECT_EQ(r.inverse_rms, (std::vector<float>{0.5f, 0.25f}));
}

/// The fp8 form beside y, and without a place for y, is that of the values that are stored.
TYPED_TEST(RmsNorm, Float8OfTheStoredValues) {
  using T = TypeParam;
  const float scale = 37.5f;
  for (const auto& [rows, dim] : row_shapes) {
    const auto residual = random_values<T>(rows * dim, 1), weight = random_values<T>(dim, 3);
    const auto plain = normalize(residual, static_cast<const std::vector<T>*>(nullptr), weight);
    std::vector<e4m3> expected;
    for (const T y : plain.y) expected.push_back(e4m3(static_cast<float>(y) * scale));
    for (const bool alone : {false, true}) {
      std::vector<T> y(plain.y.size());
      std::vector<e4m3> codes(y.size());
      std::vector<float> inverse_rms(static_cast<std::size_t>(rows));
      StatsProbe stats;
      const AddRmsNormForward args{
          .residual = residual.data(),
          .weight = weight.data(),
          .y = alone ? nullptr : y.data(),
          .inverse_rms = inverse_rms.data(),
          .dtype = dtype_of<T>::value,
          .rows = rows,
          .dim = dim,
          .stats = stats.out(),
          .float8 = {.y = codes.data(), .format = DType::e4m3, .scale = &scale},
      };
      cpu::add_rmsnorm_forward(stream(), args);
      EXPECT_TRUE(same_bits(codes, expected)) << rows << " x " << dim;
      EXPECT_TRUE(alone || same_bits(y, plain.y));
      EXPECT_EQ(stats.amax, plain.stats.amax);
      EXPECT_EQ(inverse_rms, plain.inverse_rms);
      EXPECT_EQ(args.bytes_moved(), rows * dim * ((alone ? 1 : 2) * size_of(args.dtype) + 1) + rows * 4);
    }
  }
}

TYPED_TEST(RmsNorm, ForwardAgreesWithDoubleReference) {
  using T = TypeParam;
  for (const auto& [rows, dim] : row_shapes) {
    const auto residual = random_values<T>(rows * dim, 1), branch = random_values<T>(rows * dim, 2);
    const auto weight = random_values<T>(dim, 3);
    const auto r = normalize(residual, &branch, weight);
    for (std::size_t i = 0; i < r.sum.size(); ++i) {
      ASSERT_EQ(static_cast<float>(r.sum[i]),
                static_cast<float>(T(static_cast<float>(residual[i]) + static_cast<float>(branch[i]))));
    }
    const auto expected = reference_rmsnorm(r.sum, weight, 1e-5);
    EXPECT_LT(relative_error(r.y, expected), storage_tolerance<T>()) << rows << " x " << dim;
    for (std::size_t i = 0; i < r.y.size(); ++i) {  // one rounding: at most half a step away (and fp32's own error)
      ASSERT_NEAR(static_cast<double>(r.y[i]), expected[i],
                  std::abs(expected[i]) * (sizeof(T) == 4 ? 1e-6 : 0x1.01p-8));
    }
    r.stats.expect_of(r.y);
  }
}

TYPED_TEST(RmsNorm, WithoutBranchAndInPlace) {
  using T = TypeParam;
  const auto x = random_values<T>(5 * 33, 1), branch = random_values<T>(5 * 33, 2), weight = random_values<T>(33, 3);
  const auto apart = normalize(x, &branch, weight);
  EXPECT_TRUE(same_bits(normalize(apart.sum, static_cast<const std::vector<T>*>(nullptr), weight).y, apart.y));

  auto sum = x;  // residual and sum are one tensor
  std::vector<T> y(x.size());
  std::vector<float> inverse_rms(5);
  cpu::add_rmsnorm_forward(stream(), {.residual = sum.data(),
                                      .branch = branch.data(),
                                      .weight = weight.data(),
                                      .sum = sum.data(),
                                      .y = y.data(),
                                      .inverse_rms = inverse_rms.data(),
                                      .dtype = dtype_of<T>::value,
                                      .rows = 5,
                                      .dim = 33,
                                      .stats = {}});
  EXPECT_TRUE(same_bits(sum, apart.sum));
  EXPECT_TRUE(same_bits(y, apart.y));
  EXPECT_EQ(inverse_rms, apart.inverse_rms);
}

TYPED_TEST(RmsNorm, CountsNonFiniteResults) {
  using T = TypeParam;
  auto x = random_values<T>(3 * 40, 1);
  x[45] = T(nan_f32);  // poisons its row only
  const auto r = normalize(x, static_cast<const std::vector<T>*>(nullptr), random_values<T>(40, 2));
  EXPECT_EQ(r.stats.non_finite, 5u + 40u);
  r.stats.expect_of(r.y);
}

template <typename T>
struct Backward {
  std::vector<T> dx;
  std::vector<float> d_weight;
  StatsProbe stats;
};

enum class Place { apart, over_dy, over_residual };

template <typename T>
Backward<T> normalize_backward(std::vector<T> dy, const std::vector<T>& x, const std::vector<T>& weight,
                               std::vector<T> d_residual, Place place = Place::apart, float d_weight_before = nan_f32,
                               const Float8Out& float8 = {}) {
  const auto dim = static_cast<std::int64_t>(weight.size()), rows = static_cast<std::int64_t>(x.size()) / dim;
  const auto inverse_rms = normalize(x, static_cast<const std::vector<T>*>(nullptr), weight).inverse_rms;
  Backward<T> r{std::vector<T>(x.size()), std::vector<float>(weight.size(), d_weight_before), {}};
  auto& dx = place == Place::apart ? r.dx : place == Place::over_dy ? dy : d_residual;
  RmsNormBackward args{.dy = dy.data(),
                       .x = x.data(),
                       .weight = weight.data(),
                       .inverse_rms = inverse_rms.data(),
                       .d_residual = d_residual.empty() ? nullptr : d_residual.data(),
                       .dx = dx.data(),
                       .d_weight = r.d_weight.data(),
                       .accumulate = !std::isnan(d_weight_before),
                       .dtype = dtype_of<T>::value,
                       .rows = rows,
                       .dim = dim,
                       .stats = r.stats.out(),
                       .float8 = float8,
                       .workspace = nullptr};
  std::vector<char> workspace(static_cast<std::size_t>(cpu::rmsnorm_backward_workspace(args)), '\x7f');
  args.workspace = workspace.data();
  cpu::rmsnorm_backward(stream(), args);
  if (place != Place::apart) r.dx = dx;
  return r;
}

TYPED_TEST(RmsNorm, Float8OfTheStoredGradients) {
  using T = TypeParam;
  const float scale = 1234.5f;
  for (const auto& [rows, dim] : row_shapes) {
    const auto dy = random_values<T>(rows * dim, 1), x = random_values<T>(rows * dim, 2),
               weight = random_values<T>(dim, 3), d_residual = random_values<T>(rows * dim, 4);
    for (const Place place : {Place::apart, Place::over_dy, Place::over_residual}) {
      std::vector<e5m2> codes(dy.size()), expected;
      const auto r = normalize_backward(dy, x, weight, d_residual, place, nan_f32,
                                        {.y = codes.data(), .format = DType::e5m2, .scale = &scale});
      EXPECT_TRUE(same_bits(r.dx, normalize_backward(dy, x, weight, d_residual).dx));
      for (const T v : r.dx) expected.push_back(e5m2(static_cast<float>(v) * scale));
      EXPECT_TRUE(same_bits(codes, expected)) << rows << " x " << dim;
    }
  }
}

/// dx and d_weight in double from the formula of the quotient rule.
template <typename T>
std::pair<std::vector<double>, std::vector<double>> reference_backward(const std::vector<T>& dy,
                                                                       const std::vector<T>& x,
                                                                       const std::vector<T>& weight,
                                                                       const std::vector<T>& d_residual) {
  const std::size_t dim = weight.size();
  std::vector<double> dx(x.size()), d_weight(dim, 0.0);
  for (std::size_t row = 0; row < x.size(); row += dim) {
    double squares = 0, dot = 0;
    for (std::size_t i = 0; i < dim; ++i) {
      const double v = static_cast<double>(x[row + i]);
      squares += v * v;
      dot += static_cast<double>(dy[row + i]) * static_cast<double>(weight[i]) * v;
    }
    const double mean = squares / static_cast<double>(dim) + 1e-5, r = 1.0 / std::sqrt(mean);
    for (std::size_t i = 0; i < dim; ++i) {
      const double v = static_cast<double>(x[row + i]), g = static_cast<double>(dy[row + i]);
      dx[row + i] = g * static_cast<double>(weight[i]) * r - v * dot / (static_cast<double>(dim) * mean) * r;
      if (!d_residual.empty()) dx[row + i] += static_cast<double>(d_residual[row + i]);
      d_weight[i] += g * v * r;
    }
  }
  return {dx, d_weight};
}

TYPED_TEST(RmsNorm, BackwardAgreesWithDoubleReference) {
  using T = TypeParam;
  for (const auto& [rows, dim] : row_shapes) {
    const auto dy = random_values<T>(rows * dim, 1), x = random_values<T>(rows * dim, 2);
    const auto weight = random_values<T>(dim, 3), d_residual = random_values<T>(rows * dim, 4);
    for (const auto& residual : {d_residual, std::vector<T>{}}) {
      if (dim == 1 && residual.empty()) continue;  // the normed value is ±1: its gradient cancels to rounding errors
      const auto r = normalize_backward(dy, x, weight, residual);
      const auto [dx, d_weight] = reference_backward(dy, x, weight, residual);
      const double cancellation = dim == 1 ? 1e-5 : 0.0;
      EXPECT_LT(relative_error(r.dx, dx), storage_tolerance<T>() + cancellation) << rows << " x " << dim;
      EXPECT_LT(relative_error(r.d_weight, d_weight), 1e-6) << rows << " x " << dim;
      r.stats.expect_of(r.dx);
    }
  }
}

TYPED_TEST(RmsNorm, BackwardInPlaceAndAccumulating) {
  using T = TypeParam;
  const auto dy = random_values<T>(35 * 33, 1), x = random_values<T>(35 * 33, 2);
  const auto weight = random_values<T>(33, 3), d_residual = random_values<T>(35 * 33, 4);
  const auto apart = normalize_backward(dy, x, weight, d_residual);
  for (const Place place : {Place::over_dy, Place::over_residual}) {
    const auto r = normalize_backward(dy, x, weight, d_residual, place, 2.0f);
    EXPECT_TRUE(same_bits(r.dx, apart.dx));
    for (std::size_t i = 0; i < r.d_weight.size(); ++i) EXPECT_EQ(r.d_weight[i], 2.0f + apart.d_weight[i]);
  }
}

TYPED_TEST(RmsNorm, SameBitsForAnyThreads) {
  using T = TypeParam;
  const auto dy = random_values<T>(131 * 300, 1), x = random_values<T>(131 * 300, 2), weight = random_values<T>(300, 3);
  expect_same_bits_for_any_threads([&] { return normalize(x, &dy, weight).y; });
  expect_same_bits_for_any_threads([&] { return normalize_backward(dy, x, weight, {}).dx; });
  expect_same_bits_for_any_threads([&] { return normalize_backward(dy, x, weight, dy).d_weight; });
}

TEST(RmsNormGradient, AgreesWithFiniteDifferences) {
  const std::int64_t rows = 3, dim = 7;
  auto residual = random_values(rows * dim, 1), weight = random_values(dim, 3);
  const auto branch = random_values(rows * dim, 2), dy = random_values(rows * dim, 4);
  const auto d_sum = random_values(rows * dim, 5);  // of a loss that also reads the sum
  const auto analytic = normalize_backward(dy, normalize(residual, &branch, weight).sum, weight, d_sum);
  const auto loss = [&] {
    const auto f = normalize(residual, &branch, weight);
    return weighted_sum(f.y, dy) + weighted_sum(f.sum, d_sum);
  };
  EXPECT_LT(relative_error(analytic.dx, central_differences(residual, 0x1p-8f, loss)), 5e-4);
  EXPECT_LT(relative_error(analytic.d_weight, central_differences(weight, 0x1p-4f, loss)), 1e-5);
}

}  // namespace
}  // namespace octet
