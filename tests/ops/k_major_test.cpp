// The float8 linear for kernels that read both operands of an fp8 GEMM along k: same bits by transposed copies.
#include "tests/support/k_major.h"
#include "tests/ops/ops_test.h"

namespace octet {
namespace {

using test::view;

constexpr std::int64_t n = 48, in = 80, out = 32;
constexpr LinearRecipe recipe{.name = "feed_forward.w1", .float8 = true};

struct KMajorLinear : test::OpsTest {
  KernelTable k_major = test::k_major_kernels();
  OpContext turned{*stream_, k_major, scratch_, exchange_, &trace_};
  std::vector<bf16> x = test::random_values<bf16>(n * in, 1), dy = test::random_values<bf16>(n * out, 2);
  std::vector<float> w = test::random_values(out * in, 3);
  std::vector<e4m3> x_codes{x.size()}, w_codes{w.size()};
  QuantScale x_scale = new_scale(), w_scale = new_scale(), dy_scale = new_scale();
  LinearInput input{
      .high = view(x, {n, in}), .quantized = view(x_codes, {n, in}), .scale = x_scale, .any_float8 = true};

  void SetUp() override {
    *x_scale.amax = *dy_scale.amax = *w_scale.amax = 5.0f;
    quantize_input(op_, input);
  }
  Tensor weight() { return quantize(op_, view(w, {out, in}), LinearRecipe::weight_format, w_scale, w_codes.data()); }

  struct Results {
    std::vector<bf16> y, dx;
    std::vector<float> dw;
  };
  Results run(OpContext& op) {
    const ArenaScope scope(scratch_);
    Results r{std::vector<bf16>(dy.size()), x, std::vector<float>(w.size(), 1.5f)};
    const Tensor wq = weight();
    const GradOperand g = prepare_grad_output(op, recipe, view(dy, {n, out}), dy_scale);
    linear_forward(op, recipe, input.of(recipe), wq, view(r.y, {n, out}));
    linear_grad_input(op, recipe, g.rows, wq, view(r.dx, {n, in}), true);
    linear_grad_weight(op, recipe, g, {input.of(recipe), transpose_input(op, input)}, view(r.dw, {out, in}), true);
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
  const GradOperand g = prepare_grad_output(turned, recipe, view(dy, {n, out}), dy_scale);
  const Tensor xt = transpose_input(turned, input);
  ASSERT_EQ(g.for_weight.shape, (Shape{out, n}));
  ASSERT_EQ(xt.shape, (Shape{in, n}));
  EXPECT_EQ(g.for_weight.inverse_scale, dy_scale.inverse);
  EXPECT_EQ(xt.inverse_scale, x_scale.inverse);
  for (std::int64_t r = 0; r < n; ++r) {
    for (std::int64_t c = 0; c < out; ++c) {
      ASSERT_EQ(g.rows.as<e5m2>()[r * out + c].bits, g.for_weight.as<e5m2>()[c * n + r].bits) << r << " " << c;
    }
    for (std::int64_t c = 0; c < in; ++c) {
      ASSERT_EQ(input.quantized.as<e4m3>()[r * in + c].bits, xt.as<e4m3>()[c * n + r].bits) << r << " " << c;
    }
  }
}

TEST_F(KMajorLinear, NoCopiesWhereNobodyReadsThem) {
  const ArenaScope scope(scratch_);
  const LinearRecipe in_bf16{.name = "feed_forward.w1"};
  LinearInput high_only;
  high_only.high = view(x, {n, in});
  EXPECT_EQ(transpose_input(turned, high_only).shape.rank(), 0);
  EXPECT_EQ(transpose_input(op_, input).shape.rank(), 0);
  EXPECT_EQ(prepare_grad_output(turned, in_bf16, view(dy, {n, out}), dy_scale).for_weight.shape.rank(), 0);
  EXPECT_EQ(scratch_.mark(), 0);
  EXPECT_EQ(prepare_grad_output(op_, recipe, view(dy, {n, out}), dy_scale).for_weight.shape.rank(), 0);
}

TEST_F(KMajorLinear, AMissingCopyIsNamed) {
  const ArenaScope scope(scratch_);
  std::vector<float> dw(w.size());
  const GradOperand g = prepare_grad_output(turned, recipe, view(dy, {n, out}), dy_scale);
  EXPECT_EQ(test::internal_error_of([&] {
              linear_grad_weight(turned, recipe, g, input.of(recipe), view(dw, {out, in}), false);
            }),
            "[ops] linear feed_forward.w1 grad_weight: x [48, 80] has no transposed copy, but []");
  EXPECT_TRUE(trace_.records().empty());
}

}  // namespace
}  // namespace octet
