#include <array>
#include <bit>

#include "tests/gpu/gpu_test.h"

namespace octet::gpu_test {
namespace {

/// Random values over the range of both formats and beyond, among them what is special to them.
template <typename T>
std::vector<T> values_to_cast(std::int64_t n, unsigned seed) {
  auto values = normal<T>(n, seed, 200.0);
  constexpr std::array<float, 16> special = {0.0f,      -0.0f,       448.0f,     -464.0f, 465.0f,  57344.0f,
                                             -61440.0f, INFINITY,    -INFINITY,  NAN,     0x1p-9f, 0x1p-10f,
                                             0x1p-17f,  -0x1.8p-17f, 0x1.8p-10f, 1.0625f};
  for (std::size_t i = 0; i < values.size(); i += 7) values[i] = T(special[i / 7 % special.size()]);
  for (std::size_t i = 3; i < values.size(); i += 11) values[i] = T(static_cast<float>(values[i]) * 0x1p-16f);
  return values;
}

/// Smaller than, equal to and beyond the tiles; multiples of 16 and not.
constexpr std::array<Matrix, 12> cast_matrices = {{{1, 1},
                                                   {3, 5},
                                                   {16, 16},
                                                   {128, 64},
                                                   {129, 65},
                                                   {144, 272},
                                                   {256, 96},
                                                   {1000, 24},
                                                   {40, 4096},
                                                   {7, 160},
                                                   {130, 128},
                                                   {385, 33}}};

class GpuCast : public GpuTest {
 protected:
  template <typename To, typename From>
  void compare(const std::vector<From>& values, float scale_value, std::int64_t offset, bool measures = false) {
    Both<From> x(*gpu_stream, values);
    Both<float> scale(*gpu_stream, {scale_value}), amax(*gpu_stream, {0.5f});
    Both<std::uint32_t> count(*gpu_stream, {3});
    auto y = Both<To>::output(*gpu_stream, x.size());
    CastToFloat8 args{.x = x.cpu() + offset,
                      .from = dtype_of<From>::value,
                      .y = y.cpu() + offset,
                      .to = dtype_of<To>::value,
                      .n = x.size() - offset,
                      .scale = scale.cpu()};
    if (measures) args.stats = {amax.cpu(), count.cpu()};
    cpu.cast_to_float8(*cpu_stream, args);
    args.x = x.gpu() + offset, args.y = y.gpu() + offset, args.scale = scale.gpu();
    if (measures) args.stats = {amax.gpu(), count.gpu()};
    gpu().cast_to_float8(*gpu_stream, args);
    expect_same_values(y, "y");
    expect_same_bits(amax, "amax");
    expect_same_bits(count, "non-finite");
  }

  /// With a scale that the cast forms itself.
  template <typename To>
  void compare_forming(float amax_value, bool power_of_two, bool transposed) {
    SCOPED_TRACE(fmt::format("abs-max {}, powers of two {}, transposed {}", amax_value, power_of_two, transposed));
    constexpr std::int64_t rows = 130, columns = 96, n = rows * columns;
    Both<float> x(*gpu_stream, values_to_cast<float>(n, 3)), amax(*gpu_stream, {amax_value});
    auto y = Both<To>::output(*gpu_stream, n), turned = Both<To>::output(*gpu_stream, n);
    auto scale = Both<float>::output(*gpu_stream, 1), inverse = Both<float>::output(*gpu_stream, 1);
    CastToFloat8 args{
        .x = x.cpu(), .from = DType::f32, .y = y.cpu(), .to = dtype_of<To>::value, .n = n, .columns = columns};
    if (transposed) args.y_transposed = turned.cpu();
    args.amax = amax.cpu(), args.power_of_two = power_of_two;
    args.scale_out = scale.cpu(), args.inverse_scale_out = inverse.cpu();
    cpu.cast_to_float8(*cpu_stream, args);
    args.x = x.gpu(), args.y = y.gpu(), args.amax = amax.gpu();
    if (transposed) args.y_transposed = turned.gpu();
    args.scale_out = scale.gpu(), args.inverse_scale_out = inverse.gpu();
    gpu().cast_to_float8(*gpu_stream, args);
    expect_same_values(y, "y");
    if (transposed) expect_same_values(turned, "transposed");
    expect_same_bits(scale, "scale");
    expect_same_bits(inverse, "inverse scale");
  }

  template <typename To, typename From>
  void compare_transposed(Matrix matrix, std::int64_t offset, bool plain, bool measures = false) {
    SCOPED_TRACE(fmt::format("{} x {}, offset {}", matrix.rows, matrix.columns, offset));
    const std::int64_t n = matrix.rows * matrix.columns;
    Both<From> x(*gpu_stream, values_to_cast<From>(n + offset, 3));
    Both<float> scale(*gpu_stream, {0.37f}), amax(*gpu_stream, {0.5f});
    Both<std::uint32_t> count(*gpu_stream, {3});
    auto y = Both<To>::output(*gpu_stream, n + offset), transposed = Both<To>::output(*gpu_stream, n + offset);
    CastToFloat8 args{.x = x.cpu() + offset,
                      .from = dtype_of<From>::value,
                      .y = y.cpu() + offset,
                      .to = dtype_of<To>::value,
                      .n = n,
                      .scale = scale.cpu(),
                      .y_transposed = transposed.cpu() + offset,
                      .columns = matrix.columns};
    if (measures) args.stats = {amax.cpu(), count.cpu()};
    cpu.cast_to_float8(*cpu_stream, args);
    args.x = x.gpu() + offset, args.scale = scale.gpu();
    if (measures) args.stats = {amax.gpu(), count.gpu()};
    args.y = plain ? y.gpu() + offset : nullptr, args.y_transposed = transposed.gpu() + offset;
    gpu().cast_to_float8(*gpu_stream, args);
    if (plain) expect_same_values(y, "y");
    expect_same_values(transposed, "y_transposed");
    expect_same_bits(amax, "amax");
    expect_same_bits(count, "non-finite");
  }

  /// Of a norm's output that has no place.
  template <typename To, typename From>
  void compare_normed(Matrix matrix, std::int64_t offset, bool plain, bool turned) {
    SCOPED_TRACE(fmt::format("norm of {} x {}, offset {}, {} {}", matrix.rows, matrix.columns, offset, plain, turned));
    const std::int64_t n = matrix.rows * matrix.columns;
    Both<From> x(*gpu_stream, values_to_cast<From>(n + offset, 3));
    Both<From> weight(*gpu_stream, normal<From>(matrix.columns + offset, 4));
    Both<float> inverse_rms(*gpu_stream, normal<float>(matrix.rows, 5)), scale(*gpu_stream, {0.37f});
    auto y = Both<To>::output(*gpu_stream, n + offset), transposed = Both<To>::output(*gpu_stream, n + offset);
    CastToFloat8 args{.x = x.cpu() + offset,
                      .from = dtype_of<From>::value,
                      .y = plain ? y.cpu() + offset : nullptr,
                      .to = dtype_of<To>::value,
                      .n = n,
                      .scale = scale.cpu(),
                      .y_transposed = turned ? transposed.cpu() + offset : nullptr,
                      .columns = matrix.columns,
                      .row_factor = inverse_rms.cpu(),
                      .column_factor = weight.cpu() + offset};
    cpu.cast_to_float8(*cpu_stream, args);
    args.x = x.gpu() + offset, args.scale = scale.gpu();
    args.row_factor = inverse_rms.gpu(), args.column_factor = weight.gpu() + offset;
    args.y = plain ? y.gpu() + offset : nullptr, args.y_transposed = turned ? transposed.gpu() + offset : nullptr;
    gpu().cast_to_float8(*gpu_stream, args);
    expect_same_values(y, "y");
    expect_same_values(transposed, "y_transposed");
  }

  template <typename To, typename From>
  void compare_convert(std::int64_t n, std::int64_t offset) {
    Both<From> x(*gpu_stream, values_to_cast<From>(n + offset, 4));
    auto y = Both<To>::output(*gpu_stream, n + offset);
    Convert args{
        .x = x.cpu() + offset, .from = dtype_of<From>::value, .y = y.cpu() + offset, .to = dtype_of<To>::value, .n = n};
    cpu.convert(*cpu_stream, args);
    args.x = x.gpu() + offset, args.y = y.gpu() + offset;
    gpu().convert(*gpu_stream, args);
    expect_same_values(y, "converted");
  }
};

TEST_F(GpuCast, ScalesHaveTheBitsOfTheCpu) {
  auto amaxes = normal<float>(700, 2);
  for (float& v : amaxes) v = std::fabs(v);
  for (const float v : {0.0f, 1e-13f, 1e-12f, 0x1.19799ap-40f, 1.1e-12f, 1e30f, 3e38f, INFINITY, NAN})
    amaxes.push_back(v);
  for (const auto& [format, power] : {std::pair{DType::e4m3, false}, {DType::e5m2, false}, {DType::e4m3, true}}) {
    Both<float> amax(*gpu_stream, amaxes);
    auto scale = Both<float>::output(*gpu_stream, amax.size());
    auto inverse = Both<float>::output(*gpu_stream, amax.size() * inverse_scale_stride);
    cpu.compute_scales(*cpu_stream, {amax.cpu(), scale.cpu(), inverse.cpu(), amax.size(), format, power});
    gpu().compute_scales(*gpu_stream, {amax.gpu(), scale.gpu(), inverse.gpu(), amax.size(), format, power});
    expect_same_values(scale, "scale");
    expect_same_values(inverse, "inverse scale");
  }
}

TEST_F(GpuCast, ManySizesAndAlignments) {
  for (const std::int64_t n : {0, 1, 3, 8, 31, 257, 4096, 1100003}) {
    for (const std::int64_t offset : {0, 1, 4}) {
      SCOPED_TRACE(fmt::format("n {}, offset {}", n, offset));
      compare<e4m3>(values_to_cast<float>(n + offset, 1), 1.0f, offset);
      compare<e5m2>(values_to_cast<bf16>(n + offset, 1), 300.0f, offset);
      compare<e5m2>(values_to_cast<bf16>(n + offset, 1), 300.0f, offset, true);
    }
  }
}

TEST_F(GpuCast, EveryBf16AndFloatsFromTheWholeRange) {
  std::vector<bf16> all(1 << 16);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = bf16::from_bits(static_cast<std::uint16_t>(i));
  std::vector<float> spread(1 << 21);
  for (std::size_t i = 0; i < spread.size(); ++i) spread[i] = std::bit_cast<float>(static_cast<std::uint32_t>(i) << 11);
  std::vector<float> beside = spread;  // next to the ties of both formats
  for (std::size_t i = 0; i < beside.size(); ++i) {
    beside[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(spread[i]) + (i % 2 == 0 ? 1u : ~0u));
  }
  for (const float scale : {1.0f, 0.37f, NAN}) {
    compare<e4m3>(all, scale, 0);
    compare<e5m2>(all, scale, 0);
    for (const auto* values : {&spread, &beside}) {
      compare<e4m3>(*values, scale, 0);
      compare<e5m2>(*values, scale, 0);
    }
  }
}

TEST_F(GpuCast, Transposed) {
  for (const Matrix& matrix : cast_matrices) {
    for (const std::int64_t offset : {0, 1, 8}) {
      compare_transposed<e4m3, bf16>(matrix, offset, true);
      compare_transposed<e5m2, bf16>(matrix, offset, false);
      compare_transposed<e4m3, float>(matrix, offset, true);
      compare_transposed<e5m2, bf16>(matrix, offset, true, true);
      compare_transposed<e4m3, float>(matrix, offset, false, true);
    }
  }
}

TEST_F(GpuCast, OfANormsOutputWithoutAPlace) {
  for (const Matrix& matrix : cast_matrices) {
    for (const std::int64_t offset : {0, 1, 8}) {
      for (const auto& [plain, turned] : {std::pair{true, false}, {true, true}, {false, true}}) {
        compare_normed<e4m3, bf16>(matrix, offset, plain, turned);
        compare_normed<e5m2, float>(matrix, offset, plain, turned);
      }
    }
  }
}

TEST_F(GpuCast, TransposeOfBytes) {
  for (const Matrix& matrix : cast_matrices) {
    for (const std::int64_t offset : {0, 1, 16}) {
      SCOPED_TRACE(fmt::format("{} x {}, offset {}", matrix.rows, matrix.columns, offset));
      const std::int64_t n = matrix.rows * matrix.columns;
      std::vector<std::uint8_t> values(static_cast<std::size_t>(n + offset));
      std::mt19937 generator(5);
      for (std::uint8_t& v : values) v = static_cast<std::uint8_t>(generator());
      Both<std::uint8_t> x(*gpu_stream, values);
      auto y = Both<std::uint8_t>::output(*gpu_stream, n + offset);
      cpu.transpose_float8(*cpu_stream, {x.cpu() + offset, y.cpu() + offset, matrix.rows, matrix.columns});
      gpu().transpose_float8(*gpu_stream, {x.gpu() + offset, y.gpu() + offset, matrix.rows, matrix.columns});
      expect_same_bits(y, "transposed");
    }
  }
}

TEST_F(GpuCast, Convert) {
  for (const std::int64_t n : {0, 1, 3, 4, 5, 1023, 4096, 1100003}) {
    for (const std::int64_t offset : {0, 1, 4}) {
      SCOPED_TRACE(fmt::format("n {}, offset {}", n, offset));
      compare_convert<bf16, float>(n, offset);
      compare_convert<float, bf16>(n, offset);
      compare_convert<float, float>(n, offset);
      compare_convert<bf16, bf16>(n, offset);
    }
  }
}

TEST_F(GpuCast, FormsItsScaleFromAnAbsMax) {
  for (const float amax : {0.0f, 3.7f, 1e6f}) {
    for (const bool power_of_two : {false, true}) {
      for (const bool transposed : {false, true}) {
        compare_forming<e4m3>(amax, power_of_two, transposed);
        compare_forming<e5m2>(amax, power_of_two, transposed);
      }
    }
  }
}

}  // namespace
}  // namespace octet::gpu_test
