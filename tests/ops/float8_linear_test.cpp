// The float8 linear against an independent float64 computation and torchao (tests/golden/README.md, five steps).
#include <algorithm>

#include "tests/ops/ops_test.h"
#include "tests/support/golden.h"

namespace octet {
namespace {

using test::view;

struct Float8Linear : test::OpsTest, testing::WithParamInterface<std::string> {
  const LinearRecipe recipe = test::float8_linear("attention.wq");
  Golden golden{"float8_linear_" + GetParam()};
  Shape x_shape{64, 48}, w_shape{32, 48}, dy_shape{64, 32};
  std::vector<bf16> x = golden.values<bf16>("x"), dy = golden.values<bf16>("dy");
  std::vector<float> w = golden.values<float>("w");
  std::vector<e4m3> x_codes{x.size()}, w_codes{w.size()};
  QuantScale x_scale = new_scale(), w_scale = new_scale(), dy_scale = new_scale();
  Tensor xq, wq, dyq;

  /// Abs-max, scales and casts as the model makes them: the input through its group, the gradient into scratch.
  void quantize_all() {
    LinearInput input{.high = view(x, x_shape), .quantized = view(x_codes, x_shape), .scale = x_scale};
    measure(op_, input.high, {.amax = x_scale.amax, .non_finite = nullptr});
    RowLinear(recipe).cast(op_, input, false);
    xq = input.gathered_quantized;
    measure(op_, view(w, w_shape), {.amax = w_scale.amax, .non_finite = nullptr});
    wq = quantize(op_, view(w, w_shape), Recipe::weight_format, w_scale, false, w_codes.data());
    measure(op_, view(dy, dy_shape), {.amax = dy_scale.amax, .non_finite = nullptr});
    dyq = recipe->grad_output(op_, view(dy, dy_shape), dy_scale).for_input;
  }

  void SetUp() override { quantize_all(); }
  void TearDown() override {
    scratch_.rewind(0);  // the cast gradient lives in its caller's scope
    OpsTest::TearDown();
  }

  void expect_bits(const char* tensor, const char* what, const float* got) {
    const std::vector<float> one{*got};
    EXPECT_TRUE(test::same_bits(one, golden.values<float>(std::string(tensor) + "." + what)))
        << tensor << "." << what << " = " << *got;
  }
};

INSTANTIATE_TEST_SUITE_P(Cases, Float8Linear, testing::Values("normal", "outliers", "zero_input", "zero_grad"),
                         [](const auto& c) { return c.param; });

TEST_P(Float8Linear, ScalesHaveTheSameBits) {
  const std::pair<const char*, const QuantScale*> all[] = {{"x", &x_scale}, {"w", &w_scale}, {"dy", &dy_scale}};
  for (const auto& [tensor, scale] : all) {
    expect_bits(tensor, "amax", scale->amax);
    expect_bits(tensor, "scale", scale->scale);
    expect_bits(tensor, "inverse_scale", scale->inverse);
  }
  EXPECT_EQ(xq.inverse_scale, x_scale.inverse);
  EXPECT_EQ(wq.inverse_scale, w_scale.inverse);
  EXPECT_EQ(dyq.inverse_scale, dy_scale.inverse);
}

TEST_P(Float8Linear, CastsHaveTheSameBits) {
  const auto* dy_codes = dyq.as<e5m2>();
  EXPECT_EQ(xq.dtype, DType::e4m3);
  EXPECT_EQ(dyq.shape, dy_shape);
  EXPECT_TRUE(test::same_bits(x_codes, golden.values<e4m3>("x.codes")));
  EXPECT_TRUE(test::same_bits(w_codes, golden.values<e4m3>("w.codes")));
  EXPECT_TRUE(test::same_bits({dy_codes, dy_codes + dy.size()}, golden.values<e5m2>("dy.codes")));
}

TEST_P(Float8Linear, GemmsIntoFp32EqualFloat64) {
  std::vector<float> y(dy.size(), NAN), dx(x.size(), NAN), dw(w.size(), NAN);
  linear_forward(op_, recipe, xq, wq, view(y, dy_shape));
  linear_grad_input(op_, recipe, dyq, wq, view(dx, x_shape), false);
  linear_grad_weight(op_, recipe, dyq, xq, view(dw, w_shape), false);
  EXPECT_LT(Golden::distance(y, golden.values<double>("y")), 1e-6);
  EXPECT_LT(Golden::distance(dx, golden.values<double>("dx")), 1e-6);
  EXPECT_LT(Golden::distance(dw, golden.values<double>("dw")), 1e-6);
}

/// Every value of float8.accumulate gives each GEMM what the arguments of the kernel say, and memory for it.
TEST_P(Float8Linear, SumsAreThoseOfTheOption) {
  using enum Float8Accumulate;
  struct Row {
    Float8Accumulate accumulate;
    bool emulate, fast_output, fast_gradients;
    FastAccumulate fast = FastAccumulate::forward;
  };
  for (const Row& row :
       {Row{fp32, false, true, false}, Row{hopper, true, true, false}, Row{hopper_fast, true, true, true},
        Row{hopper_slow, true, false, false}, Row{hopper, true, true, true, FastAccumulate::all}}) {
    SCOPED_TRACE(fmt::format("{}, {}", row.accumulate, row.fast));
    const LinearRecipe summed =
        test::float8_linear("attention.wq", {.fast_accumulate = row.fast, .accumulate = row.accumulate});
    const auto direct = [&](const Tensor& a, bool ta, const Tensor& b, bool tb, Shape c, std::int64_t k, bool fast) {
      std::vector<float> sums(static_cast<std::size_t>(c.elements()), NAN);
      Gemm gemm{.a = {a.data, a.dtype, ta, a.inverse_scale},
                .b = {b.data, b.dtype, tb, b.inverse_scale},
                .c = sums.data(),
                .m = c[0],
                .n = c[1],
                .k = k,
                .fast_accumulate = fast,
                .emulate_hopper = row.emulate};
      const Buffer workspace(cpu_device(), op_.kernels.gemm_workspace(gemm), Purpose::workspace);
      gemm.workspace = workspace.data();
      gemm.workspace_bytes = workspace.bytes();
      op_.kernels.gemm(op_.stream, gemm);
      return sums;
    };
    std::vector<float> y(dy.size(), NAN), dx(x.size(), NAN), dw(w.size(), NAN);
    linear_forward(op_, summed, xq, wq, view(y, dy_shape));
    linear_grad_input(op_, summed, dyq, wq, view(dx, x_shape), false);
    linear_grad_weight(op_, summed, dyq, xq, view(dw, w_shape), false);
    EXPECT_TRUE(test::same_bits(y, direct(xq, false, wq, true, dy_shape, 48, row.fast_output)));
    EXPECT_TRUE(test::same_bits(dx, direct(dyq, false, wq, false, x_shape, 32, row.fast_gradients)));
    EXPECT_TRUE(test::same_bits(dw, direct(dyq, true, xq, false, w_shape, 64, row.fast_gradients)));
  }
}

/// Elements further from the float64 value than one unit in the last place of bf16 (8 bits of significand).
std::int64_t beyond_one_unit(const std::vector<bf16>& got, const std::vector<double>& expected) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double unit = expected[i] == 0 ? 0 : std::ldexp(1.0, std::ilogb(expected[i]) - 7);
    count += std::abs(static_cast<double>(got[i]) - expected[i]) <= unit ? 0 : 1;
  }
  return count;
}

TEST_P(Float8Linear, Bf16ResultsEqualTorchao) {
  std::vector<bf16> y(dy.size()), dx(x.size()), dw(w.size());
  linear_forward(op_, recipe, xq, wq, view(y, dy_shape));
  linear_grad_input(op_, recipe, dyq, wq, view(dx, x_shape), false);
  linear_grad_weight(op_, recipe, dyq, xq, view(dw, w_shape), false);
  EXPECT_EQ(beyond_one_unit(y, golden.values<double>("y")), 0);
  EXPECT_EQ(beyond_one_unit(dx, golden.values<double>("dx")), 0);
  EXPECT_EQ(beyond_one_unit(dw, golden.values<double>("dw")), 0);
  EXPECT_LT(Golden::distance(y, golden.values<bf16>("torchao.y")), 1e-3);
  EXPECT_LT(Golden::distance(dx, golden.values<bf16>("torchao.dx")), 1e-3);
  EXPECT_LT(Golden::distance(dw, golden.values<float>("torchao.dw")), 1e-3);
}

TEST_P(Float8Linear, ZeroTensorsGiveExactZeros) {
  std::vector<float> y(dy.size(), NAN), dx(x.size(), NAN), dw(w.size(), NAN);
  linear_forward(op_, recipe, xq, wq, view(y, dy_shape));
  linear_grad_input(op_, recipe, dyq, wq, view(dx, x_shape), false);
  linear_grad_weight(op_, recipe, dyq, xq, view(dw, w_shape), false);
  const auto all_zero = [](const auto& v) { return std::all_of(v.begin(), v.end(), [](float e) { return e == 0; }); };
  EXPECT_EQ(all_zero(y), GetParam() == "zero_input");
  EXPECT_EQ(all_zero(dx), GetParam() == "zero_grad");
  EXPECT_EQ(all_zero(dw), GetParam() == "zero_input" || GetParam() == "zero_grad");
}

TEST(ComputeScales, EqualTheFormulaBitForBit) {
  const Golden golden("float8_cast");
  const auto amax = golden.values<float>("amax");
  const auto stream = cpu_device().make_stream();
  for (const DType format : {DType::e4m3, DType::e5m2}) {
    std::vector<float> scale(amax.size(), NAN), inverses(amax.size() * inverse_scale_stride, NAN);
    kernels_of(*stream).compute_scales(*stream, {.amax = amax.data(),
                                                 .scale = scale.data(),
                                                 .inverse_scale = inverses.data(),
                                                 .n = static_cast<std::int64_t>(amax.size()),
                                                 .format = format});
    std::vector<float> inverse(amax.size());
    for (std::size_t i = 0; i < inverse.size(); ++i) inverse[i] = inverses[i * inverse_scale_stride];
    const std::string name(name_of(format));
    EXPECT_TRUE(test::same_bits(scale, golden.values<float>(name + ".scale"))) << name;
    EXPECT_TRUE(test::same_bits(inverse, golden.values<float>(name + ".inverse_scale"))) << name;
  }
}

}  // namespace
}  // namespace octet
