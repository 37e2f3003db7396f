// Casts with a scale for 1 x 128 and for 128 x 128 values, against a plain loop over the rule and the layout as
// cuBLASLt's documentation words it.
#include "kernels/blockwise.h"

#include <algorithm>
#include <cmath>

#include "tests/kernels/kernel_test.h"
#include "tests/support/error_of.h"

namespace octet {
namespace {

using namespace test;

/// One scale's values, by the rule in double, bit for bit.
struct Vector {
  float inverse = 0;
  std::vector<std::uint8_t> codes;

  Vector(const std::vector<float>& x, DType to, bool power_of_two) {
    float amax = 0;
    for (const float v : x) amax = std::isnan(v) || std::isnan(amax) ? nan_f32 : std::max(amax, std::abs(v));
    const double max = to == DType::e4m3 ? 448.0 : 57344.0;
    auto scale = static_cast<float>(max / (amax < 1e-12 ? 1e-12 : static_cast<double>(amax)));
    if (power_of_two && scale > 0) scale = std::ldexp(1.0f, std::ilogb(scale));
    inverse = 1.0f / scale;
    for (const float v : x) codes.push_back(to == DType::e4m3 ? e4m3(v * scale).bits : e5m2(v * scale).bits);
  }
};

bool same(float a, float b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

/// NaN keeps no sign.
std::uint8_t comparable(std::uint8_t code) {
  return (code & 0x7F) == 0x7F ? 0x7F : code;
}

struct Form {
  std::vector<std::uint8_t> y;
  std::shared_ptr<void> scales;
  std::int64_t count;

  Form(std::int64_t values, std::int64_t scale_floats)
      : y(static_cast<std::size_t>(values), 0xEE), scales(make_workspace(4 * scale_floats)), count(scale_floats) {}
  float* inverse() const { return static_cast<float*>(scales.get()); }
  bool operator==(const Form& other) const {
    return y == other.y && std::memcmp(inverse(), other.inverse(), static_cast<std::size_t>(4 * count)) == 0;
  }
};

/// A matrix whose vectors have sizes of their own, a zero block, a NaN, an infinity and values that are pressed to
/// zero.
template <typename From>
std::vector<From> matrix(std::int64_t rows, std::int64_t columns) {
  const auto at = [&](std::int64_t r, std::int64_t c) { return static_cast<std::size_t>(r * columns + c); };
  std::vector<float> x = random_values(rows * columns, 9, 2.0);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) x[at(r, c)] *= std::exp2(static_cast<float>(r % 7 - c % 5));
  }
  for (std::int64_t r = 0; r < 128; ++r) std::fill_n(x.begin() + r * columns + columns - 128, 128, 0.0f);
  x[at(rows - 3, 5)] = nan_f32;
  x[at(rows - 1, 130 % columns)] = -infinity_f32;
  x[at(1, 7)] = 1e30f;
  x[at(2, 9)] = 1e-20f;
  return stored<From>(x);
}

struct Shape2 {
  std::int64_t rows, columns;
};
constexpr Shape2 shapes[] = {{128, 128}, {256, 384}, {640, 256}};

template <typename From>
void check_vectors(const Shape2& s, DType to, bool power_of_two, bool transposed) {
  SCOPED_TRACE(
      fmt::format("{} x {} to {}, {}", s.rows, s.columns, name_of(to), transposed ? "transposed" : "as stored"));
  const std::vector<From> x = matrix<From>(s.rows, s.columns);
  const std::int64_t n = s.rows * s.columns;
  const Form empty(n, n / 128);
  Form row(empty), column(n, n / 128), row_alone(n, n / 128), column_alone(n, n / 128);
  row.scales = make_workspace(n / 32);
  QuantizeVectors args{.x = x.data(),
                       .from = dtype_of<From>::value,
                       .rows = s.rows,
                       .columns = s.columns,
                       .to = to,
                       .power_of_two = power_of_two,
                       .by_row = {row.y.data(), row.inverse()},
                       .by_column = {column.y.data(), column.inverse()},
                       .column_transposed = transposed};
  cpu::quantize_vectors(stream(), args);
  args.by_row = {row_alone.y.data(), row_alone.inverse()}, args.by_column = {};
  cpu::quantize_vectors(stream(), args);
  args.by_row = {}, args.by_column = {column_alone.y.data(), column_alone.inverse()};
  cpu::quantize_vectors(stream(), args);
  EXPECT_TRUE(row == row_alone);
  EXPECT_TRUE(column == column_alone);

  const auto value = [&](std::int64_t r, std::int64_t c) {
    return static_cast<float>(x[static_cast<std::size_t>(r * s.columns + c)]);
  };
  for (std::int64_t r = 0; r < s.rows; ++r) {
    for (std::int64_t l = 0; l < s.columns / 128; ++l) {
      std::vector<float> vector;
      for (std::int64_t c = 0; c < 128; ++c) vector.push_back(value(r, 128 * l + c));
      const Vector want(vector, to, power_of_two);
      ASSERT_TRUE(same(row.inverse()[l * s.rows + r], want.inverse)) << r << ", " << l;
      for (std::int64_t c = 0; c < 128; ++c) {
        const auto place = static_cast<std::size_t>(r * s.columns + 128 * l + c);
        ASSERT_EQ(comparable(row.y[place]), comparable(want.codes[static_cast<std::size_t>(c)])) << r << ", " << c;
      }
    }
  }
  for (std::int64_t c = 0; c < s.columns; ++c) {
    for (std::int64_t l = 0; l < s.rows / 128; ++l) {
      std::vector<float> vector;
      for (std::int64_t r = 0; r < 128; ++r) vector.push_back(value(128 * l + r, c));
      const Vector want(vector, to, power_of_two);
      ASSERT_TRUE(same(column.inverse()[l * s.columns + c], want.inverse)) << c << ", " << l;
      for (std::int64_t r = 0; r < 128; ++r) {
        const std::int64_t at = 128 * l + r, place = transposed ? c * s.rows + at : at * s.columns + c;
        ASSERT_EQ(comparable(column.y[static_cast<std::size_t>(place)]),
                  comparable(want.codes[static_cast<std::size_t>(r)]))
            << at << ", " << c;
      }
    }
  }
}

TEST(QuantizeVectors, EachVectorByItsOwnAbsMax) {
  for (const Shape2& s : shapes) {
    for (const bool transposed : {false, true}) {
      check_vectors<bf16>(s, DType::e4m3, true, transposed);
      check_vectors<float>(s, DType::e4m3, false, transposed);
      check_vectors<float>(s, DType::e5m2, true, transposed);
      check_vectors<bf16>(s, DType::e5m2, false, transposed);
    }
  }
}

template <typename From>
void check_blocks(const Shape2& s, DType to, bool power_of_two) {
  SCOPED_TRACE(fmt::format("{} x {} to {}", s.rows, s.columns, name_of(to)));
  const std::vector<From> x = matrix<From>(s.rows, s.columns);
  const std::int64_t down = s.rows / 128, across = s.columns / 128, n = s.rows * s.columns;
  const std::int64_t down4 = (down + 3) / 4 * 4, across4 = (across + 3) / 4 * 4;
  Form plain(n, down * across4), turned(n, across * down4);
  QuantizeBlocks args{.x = x.data(),
                      .from = dtype_of<From>::value,
                      .rows = s.rows,
                      .columns = s.columns,
                      .to = to,
                      .power_of_two = power_of_two,
                      .y = plain.y.data(),
                      .y_transposed = turned.y.data(),
                      .inverse_scale_by_row = plain.inverse(),
                      .inverse_scale_by_column = turned.inverse()};
  cpu::quantize_blocks(stream(), args);
  for (std::int64_t i = 0; i < down; ++i) {
    for (std::int64_t j = 0; j < across; ++j) {
      std::vector<float> block;
      for (std::int64_t k = 0; k < 128 * 128; ++k) {
        block.push_back(
            static_cast<float>(x[static_cast<std::size_t>((128 * i + k / 128) * s.columns + 128 * j + k % 128)]));
      }
      const Vector want(block, to, power_of_two);
      ASSERT_TRUE(same(plain.inverse()[i * across4 + j], want.inverse)) << i << ", " << j;
      ASSERT_TRUE(same(turned.inverse()[j * down4 + i], want.inverse)) << i << ", " << j;
      for (std::int64_t k = 0; k < 128 * 128; ++k) {
        const std::int64_t r = 128 * i + k / 128, c = 128 * j + k % 128;
        const std::uint8_t code = comparable(want.codes[static_cast<std::size_t>(k)]);
        ASSERT_EQ(comparable(plain.y[static_cast<std::size_t>(r * s.columns + c)]), code) << r << ", " << c;
        ASSERT_EQ(comparable(turned.y[static_cast<std::size_t>(c * s.rows + r)]), code) << r << ", " << c;
      }
    }
    for (std::int64_t j = across; j < across4; ++j) EXPECT_EQ(plain.inverse()[i * across4 + j], 0.0f);
  }
  for (std::int64_t j = 0; j < across; ++j) {
    for (std::int64_t i = down; i < down4; ++i) EXPECT_EQ(turned.inverse()[j * down4 + i], 0.0f);
  }

  Form plain_alone(n, down * across4), turned_alone(n, across * down4);
  args.y = plain_alone.y.data(), args.inverse_scale_by_row = plain_alone.inverse();
  args.y_transposed = nullptr, args.inverse_scale_by_column = nullptr;
  cpu::quantize_blocks(stream(), args);
  args.y = nullptr, args.inverse_scale_by_row = nullptr;
  args.y_transposed = turned_alone.y.data(), args.inverse_scale_by_column = turned_alone.inverse();
  cpu::quantize_blocks(stream(), args);
  EXPECT_TRUE(plain == plain_alone);
  EXPECT_TRUE(turned == turned_alone);
}

TEST(QuantizeBlocks, EachBlockByItsOwnAbsMax) {
  for (const Shape2& s : shapes) {
    check_blocks<bf16>(s, DType::e4m3, true);
    check_blocks<float>(s, DType::e4m3, false);
    check_blocks<float>(s, DType::e5m2, true);
  }
}

TEST(Blockwise, SameBitsForAnyThreads) {
  const std::vector<bf16> x = matrix<bf16>(256, 384);
  expect_same_bits_for_any_threads([&] {
    std::vector<std::uint8_t> y(256 * 384), turned(y.size());
    std::vector<float> a(256 * 3), b(384 * 2);
    cpu::quantize_vectors(stream(), {.x = x.data(),
                                     .rows = 256,
                                     .columns = 384,
                                     .by_row = {y.data(), a.data()},
                                     .by_column = {turned.data(), b.data()},
                                     .column_transposed = true});
    y.insert(y.end(), turned.begin(), turned.end());
    return y;
  });
}

std::string refusal_of(const auto& args) {
  return test::error_or_none([&] { check_operands(args); }, ExitCode::internal);
}

TEST(Blockwise, RefusesOtherExtentsAndAddresses) {
  // NOLINTBEGIN(performance-no-int-to-ptr): nobody follows them
  const auto at = [](std::uintptr_t a) { return reinterpret_cast<void*>(a); };
  const auto scales = [](std::uintptr_t a) { return reinterpret_cast<float*>(a); };
  // NOLINTEND(performance-no-int-to-ptr)
  QuantizeVectors vectors{.x = at(0x1000), .rows = 256, .columns = 128, .by_row = {at(0x2000), scales(0x3000)}};
  EXPECT_EQ(refusal_of(vectors), "");
  vectors.rows = 64;
  EXPECT_EQ(refusal_of(vectors),
            "[kernels] quantize_vectors of [64, 128], bf16 > e4m3: rows and columns must be multiples of 128");
  vectors.rows = 256;
  vectors.by_row.inverse_scale = nullptr;
  EXPECT_EQ(refusal_of(vectors),
            "[kernels] quantize_vectors of [256, 128], bf16 > e4m3: codes without their inverse scales");
  vectors.by_row.inverse_scale = scales(0x3004);
  EXPECT_NE(refusal_of(vectors).find("inverse_scale must lie on 16 bytes"), std::string::npos) << refusal_of(vectors);

  QuantizeBlocks blocks{.x = at(0x1000), .from = DType::f32, .rows = 256, .columns = 128, .y = at(0x2000)};
  EXPECT_EQ(refusal_of(blocks), "");
  blocks.columns = 200;
  EXPECT_EQ(refusal_of(blocks),
            "[kernels] quantize_blocks of [256, 200], f32 > e4m3: rows and columns must be multiples of 128");
  blocks.columns = 128;
  blocks.y_transposed = at(0x4008);
  EXPECT_NE(refusal_of(blocks).find("y_transposed must lie on 16 bytes"), std::string::npos) << refusal_of(blocks);
  blocks.y_transposed = nullptr;
  blocks.inverse_scale_by_column = scales(0x5008);
  EXPECT_NE(refusal_of(blocks).find("inverse_scale_by_column must lie on 16 bytes"), std::string::npos);
}

/// cuBLASLt's words: vectors M-major, blocks K-major with a stride of a multiple of 4.
TEST(ScaleLayout, IsTheLibrarys) {
  EXPECT_EQ(scale_count(ScaleForm::tensor, 256, 640), 1);
  EXPECT_EQ(scale_count(ScaleForm::each, 256, 640), 256);
  EXPECT_EQ(scale_count(ScaleForm::vectors, 256, 640), 256 * 5);
  EXPECT_EQ(scale_count(ScaleForm::blocks, 256, 640), 2 * 8);
  EXPECT_EQ(scale_count(ScaleForm::blocks, 256, 512), 2 * 4);
  EXPECT_EQ(scale_index(ScaleForm::vectors, 256, 640, 3, 127), 3);
  EXPECT_EQ(scale_index(ScaleForm::vectors, 256, 640, 4, 128), 256 + 4);
  EXPECT_EQ(scale_index(ScaleForm::blocks, 256, 640, 127, 639), 4);
  EXPECT_EQ(scale_index(ScaleForm::blocks, 256, 640, 128, 0), 8);
  EXPECT_EQ(scale_index(ScaleForm::each, 256, 640, 9, 500), 9);
  EXPECT_EQ(scale_index(ScaleForm::tensor, 256, 640, 9, 500), 0);
}

TEST(Blockwise, BytesMoved) {
  char y = 0;
  float s = 0;
  const std::int64_t values = 256 * 384;
  EXPECT_EQ((QuantizeVectors{.rows = 256, .columns = 384, .by_row = {&y, &s}}).bytes_moved(),
            values * 3 + 4 * values / 128);
  EXPECT_EQ(
      (QuantizeVectors{.from = DType::f32, .rows = 256, .columns = 384, .by_row = {&y, &s}, .by_column = {&y, &s}})
          .bytes_moved(),
      values * 6 + 8 * values / 128);
  EXPECT_EQ((QuantizeBlocks{.rows = 256,
                            .columns = 384,
                            .y = &y,
                            .y_transposed = &y,
                            .inverse_scale_by_row = &s,
                            .inverse_scale_by_column = &s})
                .bytes_moved(),
            values * 4 + 4 * (2 * 4 + 3 * 4));
  EXPECT_EQ((Gemm{.a = {.dtype = DType::e4m3, .scales = ScaleForm::vectors},
                  .b = {.dtype = DType::e4m3, .scales = ScaleForm::blocks},
                  .c_dtype = DType::bf16,
                  .m = 256,
                  .n = 384,
                  .k = 128})
                .bytes_moved(),
            256 * 128 + 128 * 384 + 256 * 384 * 2 + 4 * (256 + 3 * 4));
}

}  // namespace
}  // namespace octet
