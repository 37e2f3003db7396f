// The rowwise float8 linear against an independent float64 computation and torchao (tests/golden/README.md).
#include "tests/ops/ops_test.h"
#include "tests/support/golden.h"
#include "tests/support/k_major.h"

namespace octet {
namespace {

using test::view;

struct Case {
  const char* recipe;
  bool k_major;
};

struct Rowwise : test::OpsTest, testing::WithParamInterface<Case> {
  static constexpr std::int64_t n = 64, in = 48, out = 32;
  Golden golden{std::string("float8_") + GetParam().recipe};
  LinearRecipe recipe = test::float8_linear("attention.wq", {.recipe = GetParam().recipe});
  KernelTable kernels = GetParam().k_major ? test::k_major_kernels() : cpu_kernels();
  OpContext op{*stream_, kernels, scratch_, exchange_, &trace_};
  std::vector<bf16> x = golden.values<bf16>("x"), w = golden.values<bf16>("w"), dy = golden.values<bf16>("dy");
  Tensor xt = view(x, {n, in}), wt = view(w, {out, in}), dyt = view(dy, {n, out});

  Tensor x_of_output() { return recipe->input_for_output(op, xt); }
  Tensor x_of_weight() { return recipe->input_for_grad_weight(op, xt); }
  Tensor w_of_output() { return recipe->weight_for_output(op, wt); }
  Tensor w_of_input() { return recipe->weight_for_grad_input(op, wt); }
  GradOperand gradient() { return recipe->grad_output(op, dyt, {}); }

  void TearDown() override {
    scratch_.rewind(0);  // casts live in their caller's scope
    OpsTest::TearDown();
  }

  /// Codes and scales; `transposed` codes are compared in their own layout.
  void expect_cast(const char* name, const Tensor& got, int scale_dim, bool transposed = false) {
    ASSERT_EQ(got.dtype, DType::e4m3) << name;
    EXPECT_EQ(got.scale_dim, scale_dim) << name;
    const auto inverse = golden.values<float>(std::string(name) + ".inverse_scale");
    EXPECT_TRUE(test::same_bits({got.inverse_scale, got.inverse_scale + inverse.size()}, inverse)) << name;
    auto codes = golden.values<e4m3>(std::string(name) + ".codes");
    if (transposed) {
      const std::int64_t columns = got.shape[0], rows = got.shape[1];
      const auto stored = codes;
      for (std::int64_t i = 0; i < rows * columns; ++i) {
        codes[static_cast<std::size_t>(i % columns * rows + i / columns)] = stored[static_cast<std::size_t>(i)];
      }
    }
    const auto* data = got.as<e4m3>();
    EXPECT_TRUE(test::same_bits({data, data + codes.size()}, codes)) << name;
  }
};

INSTANTIATE_TEST_SUITE_P(Cases, Rowwise,
                         testing::Values(Case{"rowwise", false}, Case{"rowwise", true},
                                         Case{"rowwise_with_gw_hp", false}, Case{"rowwise_with_gw_hp", true}),
                         [](const auto& c) {
                           return std::string(c.param.recipe) + (c.param.k_major ? "_k_major" : "");
                         });

TEST_P(Rowwise, ScalesAndCodesHaveTheBitsOfTorchao) {
  const bool turned = GetParam().k_major, float8_grad_weight = recipe->float8_grad_weight();
  const int by_column = turned ? 0 : 1;
  expect_cast("x.by_row", x_of_output(), 0);
  expect_cast("w.by_row", w_of_output(), 0);
  expect_cast("w.for_input", w_of_input(), float8_grad_weight ? by_column : -1, turned);
  const GradOperand g = gradient();
  expect_cast("dy.by_row", g.for_input, 0);
  if (float8_grad_weight) {
    expect_cast("dy.by_column", g.for_weight, by_column, turned);
    expect_cast("x.by_column", x_of_weight(), by_column, turned);
  } else {
    EXPECT_EQ(g.for_weight.data, dy.data());
    EXPECT_EQ(x_of_weight().data, x.data());
  }
}

TEST_P(Rowwise, GemmsEqualFloat64AndTorchao) {
  std::vector<float> y(n * out, NAN), dx(n * in, NAN), dw(out * in, NAN);
  std::vector<bf16> y16(y.size()), dx16(dx.size());
  const GradOperand g = gradient();
  linear_grad_weight(op, recipe, g.for_weight, x_of_weight(), view(dw, {out, in}), false);
  linear_forward(op, recipe, x_of_output(), w_of_output(), view(y, {n, out}));
  linear_grad_input(op, recipe, g.for_input, w_of_input(), view(dx, {n, in}), false);
  linear_forward(op, recipe, x_of_output(), w_of_output(), view(y16, {n, out}));
  linear_grad_input(op, recipe, g.for_input, w_of_input(), view(dx16, {n, in}), false);
  EXPECT_LT(Golden::distance(y, golden.values<double>("y")), 1e-6);
  EXPECT_LT(Golden::distance(dx, golden.values<double>("dx")), 1e-6);
  EXPECT_LT(Golden::distance(dw, golden.values<double>("dw")), 1e-6);
  EXPECT_LT(Golden::distance(y16, golden.values<bf16>("torchao.y")), 1e-3);
  EXPECT_LT(Golden::distance(dx16, golden.values<bf16>("torchao.dx")), 1e-3);
  EXPECT_LT(Golden::distance(dw, golden.values<bf16>("torchao.dw")), 3e-3);  // rounded to bf16, dw is not
}

/// Hopper's sums take the place of fp32's; the scales, powers of two, multiply them exactly.
TEST_P(Rowwise, ScalesMultiplyHoppersSums) {
  recipe = test::float8_linear("attention.wq", {.recipe = GetParam().recipe, .accumulate = Float8Accumulate::hopper});
  const Tensor xq = x_of_output(), wq = w_of_output();
  std::vector<float> y(n * out, NAN), sums(y);
  linear_forward(op, recipe, xq, wq, view(y, {n, out}));
  alignas(gemm_scale_alignment) const float one = 1.0f;
  kernels.gemm(*stream_, {.a = {xq.data, DType::e4m3, false, &one},
                          .b = {wq.data, DType::e4m3, true, &one},
                          .c = sums.data(),
                          .m = n,
                          .n = out,
                          .k = in,
                          .fast_accumulate = true,
                          .emulate_hopper = true,
                          .workspace = scratch_.allocate(1 << 20),
                          .workspace_bytes = 1 << 20});
  for (std::int64_t i = 0; i < n * out; ++i) {
    const float scale = xq.inverse_scale[i / out] * wq.inverse_scale[i % out];
    ASSERT_EQ(y[static_cast<std::size_t>(i)], scale * sums[static_cast<std::size_t>(i)]) << i;
  }
}

TEST_P(Rowwise, TheTraceSaysWhatEveryGemmRead) {
  std::vector<float> y(n * out), dx(n * in), dw(out * in);
  const GradOperand g = gradient();
  linear_forward(op, recipe, x_of_output(), w_of_output(), view(y, {n, out}));
  linear_grad_input(op, recipe, g.for_input, w_of_input(), view(dx, {n, in}), false);
  linear_grad_weight(op, recipe, g.for_weight, x_of_weight(), view(dw, {out, in}), false);
  ASSERT_EQ(trace_.records().size(), 3u);
  const bool float8_grad_weight = recipe->float8_grad_weight();
  const DType last = float8_grad_weight ? DType::e4m3 : DType::bf16;
  const auto& r = trace_.records();
  for (const int i : {0, 1}) {
    EXPECT_EQ(r[static_cast<std::size_t>(i)].a, DType::e4m3);
    EXPECT_EQ(r[static_cast<std::size_t>(i)].b, DType::e4m3);
    EXPECT_EQ(r[static_cast<std::size_t>(i)].a_scales, ScaleForm::each);
  }
  EXPECT_EQ(r[0].b_scales, ScaleForm::each);
  EXPECT_EQ(r[1].b_scales, float8_grad_weight ? ScaleForm::each : ScaleForm::tensor);
  EXPECT_EQ(r[2].a, last);
  EXPECT_EQ(r[2].b, last);
  EXPECT_EQ(r[2].a_scales, float8_grad_weight ? ScaleForm::each : ScaleForm::tensor);
  EXPECT_EQ(r[2].b_scales, float8_grad_weight ? ScaleForm::each : ScaleForm::tensor);
}

TEST_P(Rowwise, NothingFallsBackOrContractsAlongScales) {
  std::vector<float> y(n * out), dw(out * in);
  EXPECT_EQ(test::internal_error_of([&] {
              linear_forward(op, recipe, xt, wt, view(y, {n, out}));
            }),
            "[ops] linear attention.wq output: x is bf16, expected fp8");
  if (GetParam().k_major || !recipe->float8_grad_weight()) return;
  EXPECT_EQ(test::internal_error_of([&] {
              linear_grad_weight(op, recipe, gradient().for_input, x_of_output(), view(dw, {out, in}), false);
            }),
            "[ops] a GEMM contracts e4m3 [64, 32] along its scales, dimension 0");
}

}  // namespace
}  // namespace octet
