// The linear in fp32 and bf16: three GEMMs against double, accumulation, refused shapes, the trace.
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/ops/ops_test.h"

namespace octet {
namespace {

using test::distance;
using test::doubles;
using test::product;
using test::transposed;
using test::view;

constexpr std::int64_t n = 24, in = 40, out = 28;
const LinearRecipe recipe{.name = "feed_forward.w2"};

template <typename T>
struct Linear : test::OpsTest {
  std::vector<T> x = test::random_values<T>(n * in, 1), w = test::random_values<T>(out * in, 2),
                 dy = test::random_values<T>(n * out, 3);
  std::vector<double> y_reference = product(doubles(x), transposed(doubles(w), out, in), n, in, out),
                      dx_reference = product(doubles(dy), doubles(w), n, out, in),
                      dw_reference = product(transposed(doubles(dy), n, out), doubles(x), out, n, in);
  Tensor x_view = view(x, {n, in}), w_view = view(w, {out, in}), dy_view = view(dy, {n, out});
  /// fp32 sums of 40 products; results in bf16 are rounded once more, by at most 2^-9 of an element.
  double tolerance = sizeof(T) == 4 ? 5e-7 : 0x1p-9;
};

using Storages = testing::Types<float, bf16>;
TYPED_TEST_SUITE(Linear, Storages);

TYPED_TEST(Linear, ThreeGemmsAgainstDouble) {
  using T = TypeParam;
  std::vector<T> y(this->dy.size(), T(NAN)), dx(this->x.size(), T(NAN));
  std::vector<float> dw(this->w.size(), NAN);
  linear_forward(this->op_, recipe, this->x_view, this->w_view, view(y, {n, out}));
  linear_grad_input(this->op_, recipe, this->dy_view, this->w_view, view(dx, {n, in}), false);
  linear_grad_weight(this->op_, recipe, this->dy_view, this->x_view, view(dw, {out, in}), false);
  EXPECT_LT(distance(y, this->y_reference), this->tolerance);
  EXPECT_LT(distance(dx, this->dx_reference), this->tolerance);
  EXPECT_LT(distance(dw, this->dw_reference), 5e-7);  // fp32 whatever the inputs are
}

/// The GEMM rounds its fp32 sums once, to nearest even.
TYPED_TEST(Linear, GradientOfTheWeightInBf16IsThatInFp32Rounded) {
  std::vector<float> wide(this->w.size(), NAN);
  std::vector<bf16> narrow(this->w.size(), bf16(NAN));
  linear_grad_weight(this->op_, recipe, this->dy_view, this->x_view, view(wide, {out, in}), false);
  linear_grad_weight(this->op_, recipe, this->dy_view, this->x_view, view(narrow, {out, in}), false);
  for (std::size_t i = 0; i < wide.size(); ++i) {
    ASSERT_EQ(static_cast<float>(narrow[i]), static_cast<float>(bf16(wide[i]))) << i;
  }
}

TYPED_TEST(Linear, GradientsInBf16AreNotAddedTo) {
  std::vector<bf16> narrow(this->w.size());
  EXPECT_EQ(test::internal_error_of([&] {
              linear_grad_weight(this->op_, recipe, this->dy_view, this->x_view, view(narrow, {out, in}), true);
            }),
            "[ops] linear feed_forward.w2 grad_weight: dw is bf16 and added to; expected f32, or bf16 that is written "
            "once");
}

TYPED_TEST(Linear, GradientsAccumulate) {
  using T = TypeParam;
  auto dx = test::random_values<T>(n * in, 4);
  auto dw = test::random_values(out * in, 5);
  auto dx_sum = this->dx_reference, dw_sum = this->dw_reference;
  for (std::size_t i = 0; i < dx.size(); ++i) dx_sum[i] += static_cast<double>(dx[i]);
  for (std::size_t i = 0; i < dw.size(); ++i) dw_sum[i] += static_cast<double>(dw[i]);
  linear_grad_input(this->op_, recipe, this->dy_view, this->w_view, view(dx, {n, in}), true);
  linear_grad_weight(this->op_, recipe, this->dy_view, this->x_view, view(dw, {out, in}), true);
  EXPECT_LT(distance(dx, dx_sum), this->tolerance);
  EXPECT_LT(distance(dw, dw_sum), 5e-7);
}

TYPED_TEST(Linear, OtherRecipesLeaveInputsAlone) {
  LinearInput input;
  input.high = this->x_view;
  RowLinear(recipe).cast(this->op_, input, false);
  EXPECT_FALSE(input.is_cast());
  EXPECT_EQ(input.gathered_high.data, this->x.data());
  const GradOperand g = recipe->grad_output(this->op_, this->dy_view, {});
  EXPECT_EQ(g.for_input.data, this->dy.data());
  EXPECT_EQ(g.for_weight.data, this->dy.data());
}

struct LinearErrors : test::OpsTest {
  static Tensor shaped(std::int64_t rows, std::int64_t columns) {
    return {nullptr, DType::f32, {rows, columns}, nullptr};
  }
};

TEST_F(LinearErrors, EveryShapeMismatchIsNamedWithItsNumbers) {
  struct Case {
    const char* gemm;
    const char* what;
    std::array<std::array<std::int64_t, 2>, 3> shapes;  ///< of the operands in the order of the arguments
    const char* numbers;
  };
  const Case cases[] = {
      {"output", "in", {{{8, 4}, {6, 5}, {8, 6}}}, "in is 4 on one side and 5 on the other"},
      {"output", "out", {{{8, 4}, {6, 4}, {8, 7}}}, "out is 7 on one side and 6 on the other"},
      {"output", "tokens", {{{8, 4}, {6, 4}, {9, 6}}}, "tokens is 8 on one side and 9 on the other"},
      {"grad_input", "out", {{{8, 6}, {7, 4}, {8, 4}}}, "out is 6 on one side and 7 on the other"},
      {"grad_input", "in", {{{8, 6}, {6, 4}, {8, 5}}}, "in is 5 on one side and 4 on the other"},
      {"grad_input", "tokens", {{{8, 6}, {6, 4}, {9, 4}}}, "tokens is 8 on one side and 9 on the other"},
      {"grad_weight", "out", {{{8, 6}, {8, 4}, {7, 4}}}, "out is 6 on one side and 7 on the other"},
      {"grad_weight", "in", {{{8, 6}, {8, 4}, {6, 5}}}, "in is 4 on one side and 5 on the other"},
      {"grad_weight", "tokens", {{{8, 6}, {9, 4}, {6, 4}}}, "tokens is 8 on one side and 9 on the other"},
  };
  for (const Case& c : cases) {
    const auto t = [&](std::size_t i) { return shaped(c.shapes[i][0], c.shapes[i][1]); };
    const std::string message = test::internal_error_of([&] {
      const std::string_view gemm = c.gemm;
      if (gemm == "output") linear_forward(op_, recipe, t(0), t(1), t(2));
      if (gemm == "grad_input") linear_grad_input(op_, recipe, t(0), t(1), t(2), false);
      if (gemm == "grad_weight") linear_grad_weight(op_, recipe, t(0), t(1), t(2), false);
    });
    EXPECT_EQ(message, fmt::format("[ops] linear feed_forward.w2 {}: {}", c.gemm, c.numbers));
  }
  EXPECT_TRUE(trace_.records().empty());
}

struct Trace : test::OpsTest {
  /// The three GEMMs of a linear whose operands are zero.
  void run(const LinearRecipe& r, DType x_type, DType dy_type, DType storage) {
    std::vector<float> memory(out * in, 0.0f), result(out * in);  // the largest of the operands
    alignas(gemm_scale_alignment) const float one = 1.0f;
    const auto t = [&](DType type, std::int64_t rows, std::int64_t columns) {
      return Tensor{memory.data(), type, {rows, columns}, is_float8(type) ? &one : nullptr};
    };
    const Tensor x = t(x_type, n, in), w = t(x_type, out, in), dy = t(dy_type, n, out);
    const auto to = [&](DType type, std::int64_t rows, std::int64_t columns) {
      return Tensor{result.data(), type, {rows, columns}, nullptr};
    };
    linear_forward(op_, r, x, w, to(storage, n, out));
    linear_grad_input(op_, r, dy, w, to(storage, n, in), false);
    linear_grad_weight(op_, r, dy, x, to(DType::f32, out, in), true);
  }
};

TEST_F(Trace, SaysShapesAndFormats) {
  trace_.set_unit("block.3");
  run(test::float8_linear("attention.wq"), DType::e4m3, DType::e5m2, DType::bf16);
  trace_.set_unit("block.4");
  run(test::float8_linear("attention.wk", {.accumulate = Float8Accumulate::hopper_slow}), DType::e4m3, DType::e5m2,
      DType::bf16);
  trace_.set_unit("head");
  run({.name = "output"}, DType::bf16, DType::bf16, DType::bf16);
  std::istringstream lines(trace_.json_lines());
  std::vector<nlohmann::json> got;
  for (std::string line; std::getline(lines, line);) got.push_back(nlohmann::json::parse(line));
  const auto record = [](auto unit, auto linear, auto gemm, std::array<std::int64_t, 3> mnk,
                         std::array<const char*, 3> abc, bool fast, bool emulate = false) {
    return nlohmann::json{{"operation", "gemm"},
                          {"unit", unit},
                          {"linear", linear},
                          {"gemm", gemm},
                          {"m", mnk[0]},
                          {"n", mnk[1]},
                          {"k", mnk[2]},
                          {"a", abc[0]},
                          {"b", abc[1]},
                          {"c", abc[2]},
                          {"fast_accumulate", fast},
                          {"emulate_hopper", emulate},
                          {"recomputed", false},
                          {"a_scale_each", false},
                          {"b_scale_each", false}};
  };
  const std::vector<nlohmann::json> expected = {
      record("block.3", "attention.wq", "output", {n, out, in}, {"e4m3", "e4m3", "bf16"}, true),
      record("block.3", "attention.wq", "grad_input", {n, in, out}, {"e5m2", "e4m3", "bf16"}, false),
      record("block.3", "attention.wq", "grad_weight", {out, in, n}, {"e5m2", "e4m3", "f32"}, false),
      record("block.4", "attention.wk", "output", {n, out, in}, {"e4m3", "e4m3", "bf16"}, false, true),
      record("block.4", "attention.wk", "grad_input", {n, in, out}, {"e5m2", "e4m3", "bf16"}, false, true),
      record("block.4", "attention.wk", "grad_weight", {out, in, n}, {"e5m2", "e4m3", "f32"}, false, true),
      record("head", "output", "output", {n, out, in}, {"bf16", "bf16", "bf16"}, false),
      record("head", "output", "grad_input", {n, in, out}, {"bf16", "bf16", "bf16"}, false),
      record("head", "output", "grad_weight", {out, in, n}, {"bf16", "bf16", "f32"}, false)};
  EXPECT_EQ(got, expected);
  trace_.clear();
  EXPECT_EQ(trace_.json_lines(), "");
}

}  // namespace
}  // namespace octet
