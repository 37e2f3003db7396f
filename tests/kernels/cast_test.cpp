#include <cstring>
#include <random>

#include "tests/kernels/kernel_test.h"

namespace octet {
namespace {

using namespace test;

struct Scales {
  float scale, inverse;
};

template <typename T>
struct CastOfNorm : testing::Test {};
TYPED_TEST_SUITE(CastOfNorm, Storages);

Scales scales_of(float amax, DType format, bool power_of_two = false) {
  Scales s{};
  cpu::compute_scales(stream(), {&amax, &s.scale, &s.inverse, 1, format, power_of_two});
  return s;
}

TEST(ComputeScales, AreTheFormula) {
  for (const DType format : {DType::e4m3, DType::e5m2}) {
    const std::vector<float> amax = random_values(1000, 1, 30.0f);
    for (const float a : amax) {
      const double clamped = std::max(static_cast<double>(std::abs(a)), 1e-12);
      const auto want = static_cast<float>((format == DType::e4m3 ? 448.0 : 57344.0) / clamped);
      EXPECT_EQ(scales_of(std::abs(a), format).scale, want);
      EXPECT_EQ(scales_of(std::abs(a), format).inverse, 1.0f / want);
    }
  }
}

/// Also where the scale lies just below a power of two: 448 / (7 · 2^k) is one.
TEST(ComputeScales, PowersOfTwoAreTheFormula) {
  std::vector<float> amax = random_values(1000, 1, 30.0f);
  for (int k = -20; k < 20; ++k) {
    const float exact = std::ldexp(7.0f, k);
    for (const float a : {exact, std::nextafter(exact, 0.0f), std::nextafter(exact, infinity_f32)}) amax.push_back(a);
  }
  for (const DType format : {DType::e4m3, DType::e5m2}) {
    for (const float a : amax) {
      const double exact = static_cast<double>(scales_of(std::abs(a), format).scale);
      const Scales s = scales_of(std::abs(a), format, true);
      EXPECT_EQ(s.scale, static_cast<float>(std::exp2(std::floor(std::log2(exact))))) << a;
      EXPECT_EQ(s.inverse * s.scale, 1.0f);
    }
    EXPECT_EQ(scales_of(infinity_f32, format, true).scale, 0.0f);
    EXPECT_TRUE(std::isnan(scales_of(nan_f32, format, true).scale));
  }
  EXPECT_EQ(scales_of(0.0f, DType::e4m3, true).scale, 0x1p48f);
}

TEST(ComputeScales, Ends) {
  EXPECT_EQ(scales_of(448.0f, DType::e4m3).scale, 1.0f);
  EXPECT_EQ(scales_of(0.0f, DType::e4m3).scale, 448e12f);
  EXPECT_EQ(scales_of(0.0f, DType::e5m2).scale, static_cast<float>(57344e12));
  EXPECT_EQ(scales_of(1e-30f, DType::e4m3).scale, 448e12f);
  EXPECT_EQ(scales_of(infinity_f32, DType::e4m3).scale, 0.0f);
  EXPECT_TRUE(std::isnan(scales_of(nan_f32, DType::e5m2).scale));
  EXPECT_TRUE(std::isnan(scales_of(nan_f32, DType::e5m2).inverse));
}

/// Values around every rounding case of the three formats: random bits, all bf16 codes, and ties with neighbours.
std::vector<float> awkward_values() {
  std::vector<float> x;
  x.reserve(500000);
  std::mt19937 random(3);
  for (int i = 0; i < 300000; ++i) x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  for (std::uint32_t code = 0; code < 65536; ++code) x.push_back(std::bit_cast<float>(code << 16));
  const auto with_neighbours = [&](float v) {
    for (const float w : {v, std::nextafter(v, infinity_f32), std::nextafter(v, -infinity_f32)}) {
      x.push_back(w);
      x.push_back(-w);
    }
  };
  for (unsigned code = 0; code < 127; ++code) {
    const auto byte = static_cast<std::uint8_t>(code), next = static_cast<std::uint8_t>(code + 1);
    for (const auto& [a, b] : {std::pair<float, float>(e4m3::from_bits(byte), e4m3::from_bits(next)),
                               std::pair<float, float>(e5m2::from_bits(byte), e5m2::from_bits(next))}) {
      with_neighbours(a);
      with_neighbours((a + b) / 2);
    }
  }
  for (const float v : {0.0f, 448.0f, 464.0f, 480.0f, 57344.0f, 61440.0f, 65536.0f, infinity_f32, nan_f32})
    with_neighbours(v);
  for (std::uint32_t i = 0; i < 20000; ++i) {  // ties of bf16, odd and even
    with_neighbours(std::bit_cast<float>((static_cast<std::uint32_t>(random()) & 0xFFFF0000u) | 0x8000u));
  }
  return x;
}

template <typename To, typename From>
void compare_cast(const std::vector<From>& x, float scale) {
  std::vector<To> y(x.size());
  cpu::cast_to_float8(stream(), {x.data(), dtype_of<From>::value, y.data(), dtype_of<To>::value,
                                 static_cast<std::int64_t>(x.size()), &scale});
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(y[i].bits, To(static_cast<float>(x[i]) * scale).bits)
        << static_cast<float>(x[i]) << " times " << scale << " at " << i;
  }
}

TEST(CastToFloat8, EveryValueAsTheScalarTypeDoes) {
  const std::vector<float> x = awkward_values();
  for (const float scale : {1.0f, 0.37f, 448e12f}) {
    compare_cast<e4m3>(x, scale);
    compare_cast<e5m2>(x, scale);
    compare_cast<e4m3>(stored<bf16>(x), scale);
    compare_cast<e5m2>(stored<bf16>(x), scale);
  }
}

TEST(CastToFloat8, NanScaleGivesNan) {
  const std::vector<float> x = {1.0f, 0.0f, -3.0f, infinity_f32, nan_f32};
  std::vector<e5m2> y(x.size());
  cpu::cast_to_float8(stream(), {x.data(), DType::f32, y.data(), DType::e5m2, 5, &nan_f32});
  for (const e5m2 v : y) EXPECT_TRUE(std::isnan(float(v)));
}

/// A cast of a norm's output that has no place has the bits of the cast of one that has, in each of its three forms.
TYPED_TEST(CastOfNorm, HasTheBitsOfTheStoredOutput) {
  using T = TypeParam;
  constexpr DType dtype = dtype_of<T>::value;
  for (const auto& [rows, dim] : {std::pair<std::int64_t, std::int64_t>{1, 7}, {33, 64}, {70, 130}}) {
    const std::int64_t n = rows * dim;
    const auto x = random_values<T>(n, 1, 30.0), weight = random_values<T>(dim, 2);
    std::vector<T> y(x.size());
    std::vector<float> inverse_rms(static_cast<std::size_t>(rows));
    AddRmsNormForward norm{.residual = x.data(),
                           .weight = weight.data(),
                           .y = y.data(),
                           .inverse_rms = inverse_rms.data(),
                           .dtype = dtype,
                           .rows = rows,
                           .dim = dim,
                           .stats = {}};
    cpu::add_rmsnorm_forward(stream(), norm);
    StatsProbe stored, alone;
    cpu::stats(stream(), {.x = y.data(), .dtype = dtype, .n = n, .out = stored.out()});
    norm.y = nullptr, norm.stats = alone.out();
    cpu::add_rmsnorm_forward(stream(), norm);
    EXPECT_EQ(alone.amax, stored.amax);
    EXPECT_EQ(norm.bytes_moved(), n * size_of(dtype) + rows * 4);

    const float scale = 100.0f;
    for (const auto& [plain, turned] : {std::pair{true, false}, {true, true}, {false, true}}) {
      std::vector<e4m3> of_stored(2 * x.size()), of_parts(2 * x.size());
      const auto cast = [&](const T* from, std::vector<e4m3>& to) {
        return CastToFloat8{.x = from,
                            .from = dtype,
                            .y = plain ? to.data() : nullptr,
                            .n = n,
                            .scale = &scale,
                            .y_transposed = turned ? to.data() + n : nullptr,
                            .columns = dim};
      };
      cpu::cast_to_float8(stream(), cast(y.data(), of_stored));
      CastToFloat8 parts = cast(x.data(), of_parts);
      parts.row_factor = inverse_rms.data(), parts.column_factor = weight.data();
      cpu::cast_to_float8(stream(), parts);
      EXPECT_TRUE(same_bits(of_parts, of_stored)) << rows << " x " << dim << " plain " << plain << " turned " << turned;
      EXPECT_EQ(parts.bytes_moved(), n * (size_of(dtype) + (plain ? 1 : 0) + (turned ? 1 : 0)) + rows * 4);
    }
  }
}

/// A cast that forms its scale has the bits of one whose scale ComputeScales made, in each of its three forms.
TEST(CastToFloat8, FormsItsScaleFromAnAbsMax) {
  const std::vector<float> x = random_values(64 * 48, 4, 100.0f);
  for (const float amax : {0.0f, 3.7f, 448e5f, nan_f32}) {
    for (const bool power_of_two : {false, true}) {
      for (const bool rows : {true, false}) {
        for (const bool transposed : {true, false}) {
          if (!rows && !transposed) continue;
          float scale[2] = {-1, -1}, inverse[2] = {-1, -1};
          cpu::compute_scales(stream(), {.amax = &amax,
                                         .scale = &scale[0],
                                         .inverse_scale = &inverse[0],
                                         .n = 1,
                                         .format = DType::e4m3,
                                         .power_of_two = power_of_two});
          std::vector<e4m3> y[2], turned[2];
          for (std::size_t way = 0; way < 2; ++way) {
            y[way].resize(x.size());
            turned[way].resize(x.size());
            CastToFloat8 args{.x = x.data(),
                              .from = DType::f32,
                              .y = rows ? y[way].data() : nullptr,
                              .to = DType::e4m3,
                              .n = 64 * 48,
                              .scale = &scale[0],
                              .y_transposed = transposed ? turned[way].data() : nullptr,
                              .columns = 48};
            if (way == 1) {
              args.scale = nullptr;
              args.amax = &amax;
              args.power_of_two = power_of_two;
              args.scale_out = &scale[1];
              args.inverse_scale_out = &inverse[1];
            }
            cpu::cast_to_float8(stream(), args);
          }
          EXPECT_EQ(std::bit_cast<std::uint32_t>(scale[0]), std::bit_cast<std::uint32_t>(scale[1]));
          EXPECT_EQ(std::bit_cast<std::uint32_t>(inverse[0]), std::bit_cast<std::uint32_t>(inverse[1]));
          EXPECT_EQ(std::memcmp(y[0].data(), y[1].data(), x.size()), 0);
          EXPECT_EQ(std::memcmp(turned[0].data(), turned[1].data(), x.size()), 0);
        }
      }
    }
  }
}

TEST(CastToFloat8, TakesStatisticsInTheSameRead) {
  std::vector<float> x = random_values(64 * 48, 4, 100.0f);
  x[77] = -infinity_f32;
  const float scale = 3.0f;
  for (const bool transposed : {false, true}) {
    std::vector<e5m2> plain(x.size()), y(x.size()), turned(x.size());
    CastToFloat8 args{.x = x.data(),
                      .from = DType::f32,
                      .y = plain.data(),
                      .to = DType::e5m2,
                      .n = 64 * 48,
                      .scale = &scale,
                      .y_transposed = transposed ? turned.data() : nullptr,
                      .columns = 48};
    cpu::cast_to_float8(stream(), args);
    StatsProbe stats;
    args.y = y.data();
    args.stats = stats.out();
    cpu::cast_to_float8(stream(), args);
    stats.expect_of(x);
    EXPECT_TRUE(same_bits(y, plain));
  }
}

TEST(CastToFloat8, ShortAndUnalignedRanges) {
  const std::vector<float> x = random_values(80, 4, 100.0f);
  for (std::size_t begin = 0; begin < 9; ++begin) {
    for (std::size_t n = 0; n < 70; n += 3) {
      compare_cast<e4m3>(std::vector<float>(x.begin() + static_cast<std::ptrdiff_t>(begin),
                                            x.begin() + static_cast<std::ptrdiff_t>(begin + n)),
                         1.5f);
    }
  }
}

TEST(CastToFloat8, SaturatesRoundsAndKeepsNan) {
  const std::vector<float> x = {1000.0f, -infinity_f32, 1.0625f, 1.1875f, nan_f32, 0x1p-10f, 0x1.8p-10f, -0.0f};
  std::vector<e4m3> y(x.size());
  const float one = 1.0f;
  cpu::cast_to_float8(stream(), {x.data(), DType::f32, y.data(), DType::e4m3, 8, &one});
  EXPECT_EQ(float(y[0]), 448.0f);
  EXPECT_EQ(float(y[1]), -448.0f);
  EXPECT_EQ(float(y[2]), 1.0f);   // a tie, to even
  EXPECT_EQ(float(y[3]), 1.25f);  // a tie, to even
  EXPECT_TRUE(std::isnan(float(y[4])));
  EXPECT_EQ(float(y[5]), 0.0f);  // half of the least subnormal, to even
  EXPECT_EQ(float(y[6]), 0x1p-9f);
  EXPECT_EQ(y[7].bits, 0x80);
}

/// Both forms, and the transposed one alone, are the plain cast with its elements in another order.
TEST(CastToFloat8, TransposedBesideAndAlone) {
  const float scale = 3.0f;
  for (const auto& [rows, columns] :
       {std::pair<std::int64_t, std::int64_t>{1, 1}, {3, 5}, {7, 130}, {200, 64}, {65, 513}}) {
    const std::int64_t n = rows * columns;
    const std::vector<bf16> x = stored<bf16>(random_values(n, 5, 100.0f));
    std::vector<e5m2> plain(x.size()), beside(x.size()), alone(x.size()), y(x.size());
    CastToFloat8 args{
        .x = x.data(), .from = DType::bf16, .y = plain.data(), .to = DType::e5m2, .n = n, .scale = &scale};
    cpu::cast_to_float8(stream(), args);
    args.columns = columns;
    args.y = y.data(), args.y_transposed = beside.data();
    cpu::cast_to_float8(stream(), args);
    args.y = nullptr, args.y_transposed = alone.data();
    cpu::cast_to_float8(stream(), args);
    EXPECT_TRUE(same_bits(y, plain));
    EXPECT_TRUE(same_bits(alone, beside)) << rows << " x " << columns;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) {
        ASSERT_EQ(alone[static_cast<std::size_t>(c * rows + r)].bits,
                  plain[static_cast<std::size_t>(r * columns + c)].bits);
      }
    }
  }
}

template <typename To, typename From>
std::vector<To> converted(const std::vector<From>& x) {
  std::vector<To> y(x.size());
  cpu::convert(stream(),
               {x.data(), dtype_of<From>::value, y.data(), dtype_of<To>::value, static_cast<std::int64_t>(x.size())});
  return y;
}

TEST(Convert, EveryValueAsTheScalarTypeDoes) {
  const std::vector<float> x = awkward_values();
  const std::vector<bf16> y = converted<bf16>(x);
  const std::vector<float> back = converted<float>(y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(y[i].bits, bf16(x[i]).bits) << x[i];
    ASSERT_EQ(std::bit_cast<std::uint32_t>(back[i]), static_cast<std::uint32_t>(y[i].bits) << 16);
  }
  EXPECT_TRUE(same_bits(converted<float>(x), x));
  EXPECT_TRUE(same_bits(converted<bf16>(y), y));
}

TEST(Convert, SameBitsForAnyThreadCount) {
  const std::vector<float> x = random_values(100001, 9);
  const float scale = 50.0f;
  std::vector<std::uint8_t> y[3];
  std::vector<bf16> z[3];
  for (const int n : {1, 2, 3}) {
    const Threads threads(n);
    const auto i = static_cast<std::size_t>(n - 1);
    y[i].resize(x.size());
    cpu::cast_to_float8(stream(), {x.data(), DType::f32, y[i].data(), DType::e5m2, 100001, &scale});
    z[i] = converted<bf16>(x);
  }
  EXPECT_TRUE(same_bits(y[1], y[0]) && same_bits(y[2], y[0]));
  EXPECT_TRUE(same_bits(z[1], z[0]) && same_bits(z[2], z[0]));
}

}  // namespace
}  // namespace octet
