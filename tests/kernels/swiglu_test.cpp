#include "kernels/swiglu.h"

#include "kernels/cpu/cpu_kernels.h"
#include "tests/kernels/kernel_test.h"

namespace octet {
namespace {

using namespace test;

constexpr std::int64_t sizes[] = {1, 7, 33, 2048, 2049, 10007};

double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

template <typename T>
std::vector<T> forward(const std::vector<T>& gate, const std::vector<T>& up, StatsProbe* stats = nullptr) {
  std::vector<T> y(gate.size());
  cpu::swiglu_forward(stream(), {.gate = gate.data(),
                                 .up = up.data(),
                                 .y = y.data(),
                                 .dtype = dtype_of<T>::value,
                                 .n = static_cast<std::int64_t>(gate.size()),
                                 .stats = stats ? stats->out() : StatsOut{}});
  return y;
}

template <typename T>
struct Gradients {
  std::vector<T> gate, up;
  StatsProbe gate_stats, up_stats;
};

template <typename T>
Gradients<T> backward(std::vector<T> gate, std::vector<T> up, const std::vector<T>& dy, bool in_place = false) {
  Gradients<T> d{std::vector<T>(gate.size()), std::vector<T>(gate.size()), {}, {}};
  cpu::swiglu_backward(stream(), {.gate = gate.data(),
                                  .up = up.data(),
                                  .dy = dy.data(),
                                  .d_gate = in_place ? gate.data() : d.gate.data(),
                                  .d_up = in_place ? up.data() : d.up.data(),
                                  .dtype = dtype_of<T>::value,
                                  .n = static_cast<std::int64_t>(gate.size()),
                                  .gate_stats = d.gate_stats.out(),
                                  .up_stats = d.up_stats.out()});
  if (in_place) {
    d.gate = gate;
    d.up = up;
  }
  return d;
}

template <typename T>
class Swiglu : public testing::Test {};
TYPED_TEST_SUITE(Swiglu, Storages);

/// fp8 forms of values as stored, by the scalar type's own cast: rows end to end, and transposed.
template <typename Code, typename T>
struct Codes {
  explicit Codes(std::int64_t n) : y(static_cast<std::size_t>(n)), transposed(y.size()) {}

  Float8Out out(bool both) {
    return {.y = y.data(),
            .y_transposed = both ? transposed.data() : nullptr,
            .format = dtype_of<Code>::value,
            .scale = &scale};
  }
  void expect_of(const std::vector<T>& values, std::int64_t columns, bool both) const {
    const std::int64_t rows = static_cast<std::int64_t>(values.size()) / columns;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) {
        const Code code(static_cast<float>(values[r * columns + c]) * scale);
        ASSERT_EQ(y[r * columns + c].bits, code.bits) << r << " " << c;
        ASSERT_TRUE(!both || transposed[c * rows + r].bits == code.bits) << r << " " << c;
      }
    }
  }

  float scale = 55.0f;
  std::vector<Code> y, transposed;
};

/// Beside the tensors, and alone: in place of tensors that have no place. Without them, statistics alone.
TYPED_TEST(Swiglu, Float8OfTheStoredValues) {
  using T = TypeParam;
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{1, 7}, {33, 64}, {70, 130}}) {
    const std::int64_t n = rows * columns;
    const auto gate = random_values<T>(n, 1, 3.0), up = random_values<T>(n, 2), dy = random_values<T>(n, 3);
    StatsProbe plain_stats;
    const auto plain = forward(gate, up, &plain_stats);
    const auto gradients = backward(gate, up, dy);
    for (const bool both : {false, true}) {
      for (const bool alone : {false, true}) {
        std::vector<T> y(gate.size()), d_gate(gate.size()), d_up(gate.size());
        Codes<e4m3, T> codes(n), up_codes(n);
        Codes<e5m2, T> gate_codes(n);
        StatsProbe stats, gate_stats, up_stats;
        const SwigluForward args{.gate = gate.data(),
                                 .up = up.data(),
                                 .y = alone ? nullptr : y.data(),
                                 .dtype = dtype_of<T>::value,
                                 .n = n,
                                 .columns = columns,
                                 .stats = stats.out(),
                                 .float8 = codes.out(both)};
        cpu::swiglu_forward(stream(), args);
        codes.expect_of(plain, columns, both);
        EXPECT_TRUE(alone || same_bits(y, plain));
        EXPECT_EQ(stats.amax, plain_stats.amax);
        EXPECT_EQ(args.bytes_moved(), n * ((alone ? 2 : 3) * size_of(args.dtype) + (both ? 2 : 1)));
        const SwigluBackward back{.gate = gate.data(),
                                  .up = up.data(),
                                  .dy = dy.data(),
                                  .d_gate = alone ? nullptr : d_gate.data(),
                                  .d_up = d_up.data(),
                                  .dtype = dtype_of<T>::value,
                                  .n = n,
                                  .columns = columns,
                                  .gate_stats = gate_stats.out(),
                                  .up_stats = up_stats.out(),
                                  .gate_float8 = gate_codes.out(both),
                                  .up_float8 = up_codes.out(!both)};
        cpu::swiglu_backward(stream(), back);
        gate_codes.expect_of(gradients.gate, columns, both);
        up_codes.expect_of(gradients.up, columns, !both);
        EXPECT_TRUE(alone || same_bits(d_gate, gradients.gate));
        EXPECT_TRUE(same_bits(d_up, gradients.up));
        EXPECT_EQ(gate_stats.amax, gradients.gate_stats.amax);
        EXPECT_EQ(back.bytes_moved(), n * ((alone ? 4 : 5) * size_of(args.dtype) + 3));
      }
    }
    StatsProbe gate_stats, up_stats;
    const SwigluBackward measured{.gate = gate.data(),
                                  .up = up.data(),
                                  .dy = dy.data(),
                                  .dtype = dtype_of<T>::value,
                                  .n = n,
                                  .gate_stats = gate_stats.out(),
                                  .up_stats = up_stats.out()};
    cpu::swiglu_backward(stream(), measured);
    EXPECT_EQ(gate_stats.amax, gradients.gate_stats.amax);
    EXPECT_EQ(up_stats.amax, gradients.up_stats.amax);
    EXPECT_EQ(measured.bytes_moved(), n * 3 * size_of(measured.dtype));
  }
}

TYPED_TEST(Swiglu, ExactAndExtremeCases) {
  using T = TypeParam;
  const auto y = forward(stored<T>({0, 200, -200, -88, infinity_f32, nan_f32}), stored<T>({3, 2, 2, 1, 1, 1}));
  EXPECT_EQ(static_cast<float>(y[0]), 0.0f);
  EXPECT_EQ(static_cast<float>(y[1]), 400.0f);
  EXPECT_EQ(static_cast<float>(y[2]), 0.0f);
  EXPECT_NEAR(static_cast<float>(y[3]), 0.0f, 1e-30f);
  EXPECT_EQ(static_cast<float>(y[4]), infinity_f32);
  EXPECT_TRUE(std::isnan(static_cast<float>(y[5])));
  const auto d = backward(stored<T>({0, 200, -200}), stored<T>({4, 4, 4}), stored<T>({1, 1, 1}));
  EXPECT_TRUE(same_bits(d.gate, stored<T>({2, 4, -0.0f})));  // silu'(0) = 1/2, silu'(±large) = 1 and 0
  EXPECT_TRUE(same_bits(d.up, stored<T>({0, 200, -0.0f})));
}

TYPED_TEST(Swiglu, ForwardAgreesWithDoubleReference) {
  using T = TypeParam;
  for (const std::int64_t n : sizes) {
    const auto gate = random_values<T>(n, 1, 4.0), up = random_values<T>(n, 2);
    StatsProbe stats;
    const auto y = forward(gate, up, &stats);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double g = static_cast<double>(gate[i]), expected = g * sigmoid(g) * static_cast<double>(up[i]);
      ASSERT_NEAR(static_cast<double>(y[i]), expected, std::abs(expected) * (sizeof(T) == 4 ? 1e-6 : 0x1.01p-8)) << g;
    }
    stats.expect_of(y);
  }
}

TYPED_TEST(Swiglu, BackwardAgreesWithDoubleReferenceAndInPlace) {
  using T = TypeParam;
  for (const std::int64_t n : sizes) {
    const auto gate = random_values<T>(n, 1, 2.0), up = random_values<T>(n, 2), dy = random_values<T>(n, 3);
    const auto d = backward(gate, up, dy);
    std::vector<double> d_gate(gate.size()), d_up(gate.size());
    for (std::size_t i = 0; i < d_gate.size(); ++i) {
      const double g = static_cast<double>(gate[i]), s = sigmoid(g), e = static_cast<double>(dy[i]);
      d_gate[i] = e * static_cast<double>(up[i]) * (s + g * s * (1.0 - s));
      d_up[i] = e * g * s;
    }
    EXPECT_LT(relative_error(d.gate, d_gate), storage_tolerance<T>()) << n;
    EXPECT_LT(relative_error(d.up, d_up), storage_tolerance<T>()) << n;
    d.gate_stats.expect_of(d.gate);
    d.up_stats.expect_of(d.up);
    const auto in_place = backward(gate, up, dy, true);
    EXPECT_TRUE(same_bits(in_place.gate, d.gate));
    EXPECT_TRUE(same_bits(in_place.up, d.up));
  }
}

TYPED_TEST(Swiglu, CountsNonFiniteAndKeepsBitsForAnyThreads) {
  using T = TypeParam;
  auto gate = random_values<T>(10007, 1);
  const auto up = random_values<T>(10007, 2), dy = random_values<T>(10007, 3);
  expect_same_bits_for_any_threads([&] { return forward(gate, up); });
  expect_same_bits_for_any_threads([&] { return backward(gate, up, dy).gate; });
  gate[3] = T(nan_f32);
  gate[9999] = T(-infinity_f32);  // -inf · 0
  StatsProbe stats;
  const auto y = forward(gate, up, &stats);
  EXPECT_EQ(stats.non_finite, 5u + 2u);
  stats.expect_of(y);
  const auto d = backward(gate, up, dy);
  EXPECT_EQ(d.gate_stats.non_finite, 5u + 2u);
  EXPECT_EQ(d.up_stats.non_finite, 5u + 2u);
}

TEST(SwigluGradient, AgreesWithFiniteDifferences) {
  auto gate = random_values(23, 1, 2.0), up = random_values(23, 2);
  const auto dy = random_values(23, 3);
  const auto d = backward(gate, up, dy);
  const auto loss = [&] { return weighted_sum(forward(gate, up), dy); };
  EXPECT_LT(relative_error(d.gate, central_differences(gate, 0x1p-7f, loss)), 2e-4);
  EXPECT_LT(relative_error(d.up, central_differences(up, 0x1p-3f, loss)), 1e-5);
}

}  // namespace
}  // namespace octet
