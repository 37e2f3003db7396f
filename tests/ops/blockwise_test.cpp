// A linear of recipe blockwise against torchao's casts and float64 (tests/golden/README.md, float8_blockwise), for
// kernels that read fp8 operands as they are stored and for those that read them along k only.
#include "tests/ops/ops_test.h"
#include "tests/support/golden.h"
#include "tests/support/k_major.h"

namespace octet {
namespace {

using test::view;

struct Blockwise : test::OpsTest, testing::WithParamInterface<bool> {
  static constexpr std::int64_t n = 256, in = 256, out = 128;
  Golden golden{"float8_blockwise"};
  LinearRecipe linear = test::float8_linear("attention.wq", {.recipe = "blockwise"});
  LinearRecipe unrounded =
      test::float8_linear("attention.wq", {.recipe = "blockwise", .round_scales_to_power_of_two = AutoBool::no});
  KernelTable kernels = GetParam() ? test::k_major_kernels() : cpu_kernels();
  OpContext op{*stream_, kernels, scratch_, exchange_, &trace_};
  std::vector<bf16> x = golden.values<bf16>("x"), w = golden.values<bf16>("w"), dy = golden.values<bf16>("dy");
  Tensor xt = view(x, {n, in}), wt = view(w, {out, in}), dyt = view(dy, {n, out});

  /// The three results, through the groups as a block calls them.
  struct Results {
    std::vector<float> y = std::vector<float>(n * out, NAN), dx = std::vector<float>(n * in, NAN),
                       dw = std::vector<float>(out * in, NAN);
  };
  Results through_row_linear(const LinearRecipe& l) {
    Results r;
    const RowLinear row(l);
    LinearInput input;
    input.high = xt;
    row.cast(op, input, false);
    row.forward(op, input, wt, view(r.y, {n, out}));
    row.backward(op, input, {.dy = dyt}, {.rows = wt}, {view(r.dw, {out, in}), false}, view(r.dx, {n, in}));
    return r;
  }
  Results through_column_group(const LinearRecipe& l) {
    Results r;
    const ColumnGroup column({l});
    LinearInput input;
    input.high = xt;
    column.cast(op, input, false);
    column.forward(op, input, std::array{wt}, std::array{view(r.y, {n, out})});
    column.backward(op, input, std::array{OutputGradient{.dy = dyt}}, std::array{WeightOperand{.rows = wt}},
                    std::array{GradientTarget{view(r.dw, {out, in}), false}}, view(r.dx, {n, in}));
    scratch_.rewind(0);  // what forward gathers and casts is its caller's
    return r;
  }

  /// Every `step`-th row, as the golden file has them.
  std::vector<float> some_rows(const std::vector<float>& all, std::int64_t columns) const {
    std::vector<float> rows;
    const auto step = golden.attribute<std::int64_t>("step");
    for (std::int64_t r = 0; r < static_cast<std::int64_t>(all.size()) / columns; r += step) {
      rows.insert(rows.end(), all.begin() + r * columns, all.begin() + (r + 1) * columns);
    }
    return rows;
  }
};

INSTANTIATE_TEST_SUITE_P(Kernels, Blockwise, testing::Bool(),
                         [](const auto& c) { return c.param ? "k_major" : "as_stored"; });

TEST_P(Blockwise, GemmsEqualFloat64OfTorchaosCodesAndScales) {
  for (const Results& r : {through_row_linear(unrounded), through_column_group(unrounded)}) {
    EXPECT_LT(Golden::distance(some_rows(r.y, out), golden.values<double>("y")), 1e-6);
    EXPECT_LT(Golden::distance(some_rows(r.dx, in), golden.values<double>("dx")), 1e-6);
    EXPECT_LT(Golden::distance(some_rows(r.dw, in), golden.values<double>("dw")), 1e-6);
  }
}

TEST_P(Blockwise, ScalesArePowersOfTwoUnlessToldOtherwise) {
  EXPECT_TRUE(linear->power_of_two());
  EXPECT_FALSE(unrounded->power_of_two());
  const Tensor cast = linear->weight_for_output(op, wt);
  const auto codes = golden.values<e4m3>("w.power_of_two.codes");
  const auto* got = cast.as<e4m3>();
  EXPECT_TRUE(test::same_bits({got, got + codes.size()}, codes));
  scratch_.rewind(0);
}

/// Each GEMM contracts along the scales' vectors, never two operands of blocks, and nothing sums without promotion.
TEST_P(Blockwise, TheTraceSaysWhatEveryGemmRead) {
  through_row_linear(linear);
  ASSERT_EQ(trace_.records().size(), 3u);
  const GemmTrace::Record &y = trace_.records()[0], &dx = trace_.records()[1], &dw = trace_.records()[2];
  for (const GemmTrace::Record* r : {&y, &dx, &dw}) {
    EXPECT_EQ(r->a, DType::e4m3);
    EXPECT_EQ(r->b, DType::e4m3);
    EXPECT_FALSE(r->fast_accumulate);
    EXPECT_EQ(r->a_scales, ScaleForm::vectors);
  }
  EXPECT_EQ(y.b_scales, ScaleForm::blocks);
  EXPECT_EQ(dx.b_scales, ScaleForm::blocks);
  EXPECT_EQ(dw.b_scales, ScaleForm::vectors);
  EXPECT_NE(trace_.json_lines().find(R"("a_scales": "vectors", "b_scales": "blocks")"), std::string::npos);
}

TEST_P(Blockwise, HoppersSumsArePromotedAndScaledEvery128) {
  const LinearRecipe hopper =
      test::float8_linear("attention.wq", {.recipe = "blockwise", .accumulate = Float8Accumulate::hopper});
  const Results emulated = through_row_linear(hopper), plain = through_row_linear(linear);
  const std::vector<double> y(plain.y.begin(), plain.y.end()), dw(plain.dw.begin(), plain.dw.end());
  const double y_off = test::distance(emulated.y, y), dw_off = test::distance(emulated.dw, dw);
  EXPECT_GT(y_off, 0) << "13 fraction bits differ from fp32 somewhere";
  EXPECT_LT(y_off, 1e-3);
  EXPECT_LT(dw_off, 1e-3);
}

TEST_P(Blockwise, OtherExtentsAreRefused) {
  const Tensor odd = view(x, {n, in}).rows(0, 100);
  EXPECT_NE(test::internal_error_of([&] { linear->input_for_grad_weight(op, odd); }).find("100"), std::string::npos);
  scratch_.rewind(0);
}

}  // namespace
}  // namespace octet
