// Casts and products of one linear with scales of vectors and blocks, against torchao's bits and float64.
#include "kernels/blockwise.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/golden.h"

namespace octet {
namespace {

using namespace test;

struct BlockwiseGolden : testing::Test {
  Golden golden{"float8_blockwise"};

  std::int64_t rows_of(const std::string& name) const { return golden.entry(name).shape[0]; }
  std::int64_t columns_of(const std::string& name) const { return golden.entry(name).shape[1]; }
};

/// One form of an operand: its codes as stored, and its scales as a GEMM reads them.
struct Form {
  std::vector<e4m3> codes;
  std::shared_ptr<void> scales;
  std::int64_t kept = 0, contracted = 0;
  ScaleForm form = ScaleForm::vectors;

  Form(std::int64_t k, std::int64_t c, ScaleForm f)
      : codes(static_cast<std::size_t>(k * c)),
        scales(make_workspace(4 * scale_count(f, k, c))),
        kept(k),
        contracted(c),
        form(f) {}
  float* inverse() const { return static_cast<float*>(scales.get()); }
  /// The scales by index of the matrix as stored, [kept / height, contracted / 128] or transposed.
  std::vector<float> in_order(bool kept_are_rows) const {
    const std::int64_t height = form == ScaleForm::blocks ? 128 : 1;
    std::vector<float> s;
    const auto add = [&](std::int64_t i, std::int64_t j) {
      s.push_back(inverse()[scale_index(form, kept, contracted, i * height, j * 128)]);
    };
    if (kept_are_rows) {
      for (std::int64_t i = 0; i < kept / height; ++i) {
        for (std::int64_t j = 0; j < contracted / 128; ++j) add(i, j);
      }
    } else {
      for (std::int64_t j = 0; j < contracted / 128; ++j) {
        for (std::int64_t i = 0; i < kept / height; ++i) add(i, j);
      }
    }
    return s;
  }
};

struct Forms {
  Form by_row, by_column;
};

Forms quantize_vectors(const std::vector<bf16>& x, std::int64_t rows, std::int64_t columns, bool power_of_two) {
  Forms f{{rows, columns, ScaleForm::vectors}, {columns, rows, ScaleForm::vectors}};
  cpu::quantize_vectors(stream(), {.x = x.data(),
                                   .rows = rows,
                                   .columns = columns,
                                   .power_of_two = power_of_two,
                                   .by_row = {f.by_row.codes.data(), f.by_row.inverse()},
                                   .by_column = {f.by_column.codes.data(), f.by_column.inverse()}});
  return f;
}

/// The codes of both are as stored.
Forms quantize_blocks(const std::vector<bf16>& x, std::int64_t rows, std::int64_t columns, bool power_of_two) {
  Forms f{{rows, columns, ScaleForm::blocks}, {columns, rows, ScaleForm::blocks}};
  cpu::quantize_blocks(stream(), {.x = x.data(),
                                  .rows = rows,
                                  .columns = columns,
                                  .power_of_two = power_of_two,
                                  .y = f.by_row.codes.data(),
                                  .inverse_scale_by_row = f.by_row.inverse(),
                                  .inverse_scale_by_column = f.by_column.inverse()});
  f.by_column.codes = f.by_row.codes;
  return f;
}

TEST_F(BlockwiseGolden, CastsHaveTorchaosBits) {
  for (const std::string name : {"x", "dy"}) {
    for (const bool power_of_two : {false, true}) {
      const Forms f = quantize_vectors(golden.values<bf16>(name), rows_of(name), columns_of(name), power_of_two);
      const auto expect = [&](const std::string& form, const Form& got, bool kept_are_rows) {
        const std::string prefix = name + form + (power_of_two ? ".power_of_two" : "");
        EXPECT_TRUE(same_bits(got.in_order(kept_are_rows), golden.values<float>(prefix + ".inverse_scale"))) << prefix;
        if (power_of_two) return;
        EXPECT_TRUE(same_bits(got.codes, golden.values<e4m3>(prefix + ".codes"))) << prefix;
      };
      expect(".by_row", f.by_row, true);
      expect(".by_column", f.by_column, false);
    }
  }
  for (const std::string prefix : {"w", "w.power_of_two"}) {
    const Forms f = quantize_blocks(golden.values<bf16>("w"), rows_of("w"), columns_of("w"), prefix != "w");
    const auto scales = golden.values<float>(prefix + ".inverse_scale");
    EXPECT_TRUE(same_bits(f.by_row.in_order(true), scales)) << prefix;
    EXPECT_TRUE(same_bits(f.by_column.in_order(false), scales)) << prefix;
    EXPECT_TRUE(same_bits(f.by_row.codes, golden.values<e4m3>(prefix + ".codes"))) << prefix;
  }
}

TEST_F(BlockwiseGolden, ProductsAreThoseOfFloat64) {
  const Forms x = quantize_vectors(golden.values<bf16>("x"), rows_of("x"), columns_of("x"), false);
  const Forms dy = quantize_vectors(golden.values<bf16>("dy"), rows_of("dy"), columns_of("dy"), false);
  const Forms w = quantize_blocks(golden.values<bf16>("w"), rows_of("w"), columns_of("w"), false);
  const auto expect = [&](const char* name, const Form& a, bool a_transposed, const Form& b, bool b_transposed) {
    ASSERT_EQ(a.contracted, b.contracted);
    std::vector<float> c(static_cast<std::size_t>(a.kept * b.kept), nan_f32);
    Gemm args{.a = {a.codes.data(), DType::e4m3, a_transposed, a.inverse(), a.form},
              .b = {b.codes.data(), DType::e4m3, b_transposed, b.inverse(), b.form},
              .c = c.data(),
              .m = a.kept,
              .n = b.kept,
              .k = a.contracted};
    args.workspace_bytes = cpu::gemm_workspace(args);
    const auto workspace = make_workspace(args.workspace_bytes);
    args.workspace = workspace.get();
    cpu::gemm(stream(), args);
    std::vector<float> sample;
    for (std::int64_t i = 0; i < a.kept; i += golden.attribute<std::int64_t>("step")) {
      sample.insert(sample.end(), c.begin() + i * b.kept, c.begin() + (i + 1) * b.kept);
    }
    EXPECT_LT(relative_error(sample, golden.values<double>(name)), 1e-6) << name;
  };
  expect("y", x.by_row, false, w.by_row, true);
  expect("dx", dy.by_row, false, w.by_column, false);
  expect("dw", dy.by_column, true, x.by_column, false);
}

}  // namespace
}  // namespace octet
