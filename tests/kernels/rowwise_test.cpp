// Casts with a scale a row or column, and GEMMs on them, against the tensorwise kernels one vector at a time.
#include <cmath>
#include <limits>

#include "tests/kernels/kernel_test.h"

namespace octet {
namespace {

using namespace test;

struct Cast {
  std::vector<std::uint8_t> y;
  std::vector<float> scale, inverse;

  Cast(std::int64_t values, std::int64_t scales)
      : y(static_cast<std::size_t>(values), 0xEE), scale(static_cast<std::size_t>(scales), -1.0f), inverse(scale) {}
  RowwiseForm form() { return {y.data(), scale.data(), inverse.data()}; }
};

/// What a vector's own abs-max, scale and cast by the tensorwise kernels are.
template <typename From>
Cast expected_cast(const std::vector<From>& x, DType to, bool power_of_two) {
  const auto n = static_cast<std::int64_t>(x.size());
  Cast c(n, 1);
  float amax = 0;
  cpu::stats(stream(), {x.data(), dtype_of<From>::value, n, {&amax, nullptr}});
  cpu::compute_scales(stream(), {&amax, c.scale.data(), c.inverse.data(), 1, to, power_of_two});
  cpu::cast_to_float8(
      stream(),
      {.x = x.data(), .from = dtype_of<From>::value, .y = c.y.data(), .to = to, .n = n, .scale = c.scale.data()});
  return c;
}

template <typename From>
void check_cast(std::int64_t rows, std::int64_t columns, DType to, bool power_of_two, bool transposed) {
  SCOPED_TRACE(fmt::format("{} x {}, {}", rows, columns, transposed ? "transposed" : "as stored"));
  std::vector<From> x;
  for (const float v : random_values(rows * columns, 5, 3.0f)) x.push_back(From(v));
  const auto at = [&](std::int64_t r, std::int64_t c) { return static_cast<std::size_t>(r * columns + c); };
  for (std::int64_t c = 0; c < columns; ++c) x[at(rows / 2, c)] = From(0.0f);
  x[at(0, columns - 1)] = From(std::numeric_limits<float>::quiet_NaN());
  x[at(rows - 1, 0)] = From(1e30f);

  Cast row(rows * columns, rows), column(rows * columns, columns), row_alone(row), column_alone(column);
  QuantizeRowwise args{.x = x.data(),
                       .from = dtype_of<From>::value,
                       .rows = rows,
                       .columns = columns,
                       .to = to,
                       .power_of_two = power_of_two,
                       .by_row = row.form(),
                       .by_column = column.form(),
                       .column_transposed = transposed};
  cpu::quantize_rowwise(stream(), args);
  args.by_row = row_alone.form(), args.by_column = {};
  cpu::quantize_rowwise(stream(), args);
  args.by_row = {}, args.by_column = column_alone.form();
  cpu::quantize_rowwise(stream(), args);
  EXPECT_EQ(row.y, row_alone.y);
  EXPECT_EQ(column.y, column_alone.y);

  for (std::int64_t r = 0; r < rows; ++r) {
    const Cast want = expected_cast<From>({x.begin() + r * columns, x.begin() + (r + 1) * columns}, to, power_of_two);
    ASSERT_TRUE(same_bits({row.scale[static_cast<std::size_t>(r)]}, want.scale)) << "row " << r;
    ASSERT_TRUE(same_bits({row.inverse[static_cast<std::size_t>(r)]}, want.inverse)) << "row " << r;
    for (std::int64_t c = 0; c < columns; ++c) ASSERT_EQ(row.y[at(r, c)], want.y[static_cast<std::size_t>(c)]);
  }
  for (std::int64_t c = 0; c < columns; ++c) {
    std::vector<From> vector;
    for (std::int64_t r = 0; r < rows; ++r) vector.push_back(x[at(r, c)]);
    const Cast want = expected_cast<From>(vector, to, power_of_two);
    ASSERT_TRUE(same_bits({column.scale[static_cast<std::size_t>(c)]}, want.scale)) << "column " << c;
    ASSERT_TRUE(same_bits({column.inverse[static_cast<std::size_t>(c)]}, want.inverse)) << "column " << c;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::size_t place = transposed ? static_cast<std::size_t>(c * rows + r) : at(r, c);
      ASSERT_EQ(column.y[place], want.y[static_cast<std::size_t>(r)]);
    }
  }
}

TEST(QuantizeRowwise, EveryVectorIsCastAsIfAlone) {
  for (const bool transposed : {false, true}) {
    for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {3, 5}, {48, 64}, {67, 129}}) {
      check_cast<bf16>(rows, columns, DType::e4m3, true, transposed);
      check_cast<float>(rows, columns, DType::e4m3, false, transposed);
      check_cast<bf16>(rows, columns, DType::e5m2, false, transposed);
    }
  }
}

/// With scales that are powers of two the scaled sum is the sum times the scales to the bit, whichever operand has
/// several, whatever the machine multiplies in.
TEST(GemmScales, MultiplyRowsAndColumns) {
  constexpr std::int64_t m = 300, n = 80, k = 96;
  std::vector<e4m3> a, b;
  for (const float v : random_values(m * k, 1, 100.0f)) a.push_back(e4m3(v));
  for (const float v : random_values(k * n, 2, 100.0f)) b.push_back(e4m3(v));
  std::vector<float> of_row, of_column;
  for (int i = 0; i < m; ++i) of_row.push_back(std::ldexp(1.0f, i % 23 - 11));
  for (int j = 0; j < n; ++j) of_column.push_back(std::ldexp(1.0f, 5 - j % 9));
  alignas(gemm_scale_alignment) const float one = 1.0f;
  alignas(gemm_scale_alignment) const float two = 2.0f;
  const auto product = [&](const Gemm& shape, auto c) {
    Gemm args = shape;
    args.c = c.data();
    args.workspace_bytes = cpu::gemm_workspace(args);
    const auto workspace = make_workspace(args.workspace_bytes);
    args.workspace = workspace.get();
    cpu::gemm(stream(), args);
    return c;
  };
  for (const bool hopper : {false, true}) {
    Gemm args{.a = {a.data(), DType::e4m3, false, &one},
              .b = {b.data(), DType::e4m3, false, &one},
              .c_dtype = DType::f32,
              .m = m,
              .n = n,
              .k = k,
              .emulate_hopper = hopper};
    const auto sums = product(args, std::vector<float>(m * n, NAN));
    for (const int which : {1, 2, 3}) {
      SCOPED_TRACE(which);
      const auto form = [&](int side) { return (which & side) != 0 ? ScaleForm::each : ScaleForm::tensor; };
      args.a = {a.data(), DType::e4m3, false, (which & 1) != 0 ? of_row.data() : &two, form(1)};
      args.b = {b.data(), DType::e4m3, false, (which & 2) != 0 ? of_column.data() : &two, form(2)};
      args.beta = 0.0f;
      args.c_dtype = DType::f32;
      const auto plain = product(args, std::vector<float>(m * n, NAN));
      args.beta = 1.0f;
      const auto added = product(args, std::vector<float>(m * n, 3.0f));
      args.c_dtype = DType::bf16;
      const auto rounded = product(args, std::vector<bf16>(m * n, bf16(3.0f)));
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const float scale = ((which & 1) != 0 ? of_row[i / n] : two) * ((which & 2) != 0 ? of_column[i % n] : two);
        ASSERT_EQ(plain[i], scale * sums[i]) << i;
        ASSERT_EQ(added[i], scale * sums[i] + 3.0f) << i;
        ASSERT_EQ(rounded[i].bits, bf16(scale * sums[i] + 3.0f).bits) << i;
      }
    }
  }
}

}  // namespace
}  // namespace octet
