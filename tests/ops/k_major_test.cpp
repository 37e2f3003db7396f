// The float8 linear for kernels that read both operands of an fp8 GEMM along k: same bits by transposed copies.
#include "tests/support/k_major.h"
#include "tests/ops/ops_test.h"

namespace octet {
namespace {

using test::view;

struct KMajorLinear : test::OpsTest {
  static constexpr std::int64_t n = 48, in = 80, out = 32;
  const LinearRecipe recipe = test::float8_linear("feed_forward.w1");
  KernelTable k_major = test::k_major_kernels();
  OpContext turned{*stream_, k_major, scratch_, exchange_, &trace_};
  std::vector<bf16> x = test::random_values<bf16>(n * in, 1), dy = test::random_values<bf16>(n * out, 2);
  std::vector<float> w = test::random_values(out * in, 3);
  std::vector<e4m3> x_codes{x.size()}, w_codes{w.size()};
  QuantScale x_scale = new_scale(), w_scale = new_scale(), dy_scale = new_scale();
  LinearInput input{.high = view(x, {n, in}), .quantized = view(x_codes, {n, in}), .scale = x_scale};

  void SetUp() override {
    *x_scale.amax = *dy_scale.amax = *w_scale.amax = 5.0f;
    RowLinear(recipe).cast(op_, input, false);
  }
  Tensor weight() { return quantize(op_, view(w, {out, in}), Recipe::weight_format, w_scale, false, w_codes.data()); }

  struct Results {
    std::vector<bf16> y, dx;
    std::vector<float> dw;
  };
  Results run(OpContext& op) {
    const ArenaScope scope(scratch_);
    Results r{std::vector<bf16>(dy.size()), x, std::vector<float>(w.size(), 1.5f)};
    const Tensor wq = weight();
    const GradOperand g = recipe->grad_output(op, view(dy, {n, out}), dy_scale);
    linear_forward(op, recipe, input.quantized, wq, view(r.y, {n, out}));
    linear_grad_input(op, recipe, g.for_input, recipe->weight_for_grad_input(op, wq), view(r.dx, {n, in}), true);
    const Tensor x_of_weight = recipe->input_for_grad_weight(op, input.quantized);
    linear_grad_weight(op, recipe, g.for_weight, x_of_weight, view(r.dw, {out, in}), true);
    return r;
  }
};

TEST_F(KMajorLinear, SameBitsFromTransposedCopies) {
  const Results plain = run(op_), copies = run(turned);
  EXPECT_TRUE(test::same_bits(plain.y, copies.y));
  EXPECT_TRUE(test::same_bits(plain.dx, copies.dx));
  EXPECT_TRUE(test::same_bits(plain.dw, copies.dw));
}

TEST_F(KMajorLinear, CopiesAreTheTransposedBytes) {
  const ArenaScope scope(scratch_);
  const GradOperand g = recipe->grad_output(turned, view(dy, {n, out}), dy_scale);
  const Tensor xt = recipe->input_for_grad_weight(turned, input.quantized);
  ASSERT_EQ(g.for_weight.shape, (Shape{out, n}));
  ASSERT_EQ(xt.shape, (Shape{in, n}));
  EXPECT_EQ(g.for_weight.inverse_scale, dy_scale.inverse);
  EXPECT_EQ(xt.inverse_scale, x_scale.inverse);
  for (std::int64_t r = 0; r < n; ++r) {
    for (std::int64_t c = 0; c < out; ++c) {
      ASSERT_EQ(g.for_input.as<e5m2>()[r * out + c].bits, g.for_weight.as<e5m2>()[c * n + r].bits) << r << " " << c;
    }
    for (std::int64_t c = 0; c < in; ++c) {
      ASSERT_EQ(input.quantized.as<e4m3>()[r * in + c].bits, xt.as<e4m3>()[c * n + r].bits) << r << " " << c;
    }
  }
}

TEST_F(KMajorLinear, NoCopiesWhereNobodyReadsThem) {
  const ArenaScope scope(scratch_);
  const LinearRecipe in_bf16{.name = "feed_forward.w1"};
  EXPECT_EQ(in_bf16->input_for_grad_weight(turned, view(x, {n, in})).data, x.data());
  EXPECT_EQ(recipe->input_for_grad_weight(op_, input.quantized).data, x_codes.data());
  EXPECT_EQ(in_bf16->grad_output(turned, view(dy, {n, out}), dy_scale).for_weight.data, dy.data());
  EXPECT_EQ(scratch_.mark(), 0);
  const GradOperand g = recipe->grad_output(op_, view(dy, {n, out}), dy_scale);
  EXPECT_EQ(g.for_weight.data, g.for_input.data);
}

TEST_F(KMajorLinear, AMissingCopyIsNamed) {
  const ArenaScope scope(scratch_);
  std::vector<float> dw(w.size());
  const GradOperand g = recipe->grad_output(turned, view(dy, {n, out}), dy_scale);
  EXPECT_EQ(test::internal_error_of([&] {
              linear_grad_weight(turned, recipe, g.for_weight, input.quantized, view(dw, {out, in}), false);
            }),
            "[ops] linear feed_forward.w1 grad_weight: in is 48 on one side and 80 on the other");
  EXPECT_TRUE(trace_.records().empty());
}

}  // namespace
}  // namespace octet
