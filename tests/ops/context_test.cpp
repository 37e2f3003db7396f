#include <array>
#include <bit>
#include <cstddef>
#include <set>

#include "src/ops/attention.h"
#include "src/ops/norm.h"
#include "tests/ops/ops_test.h"

namespace octet {
namespace {

using Pointers = std::array<std::uintptr_t, sizeof(KernelTable) / sizeof(std::uintptr_t)>;

/// Every launch has to be replaced: one that a dry run forgets would read memory that is not there.
TEST(DryRun, ReplacesEveryLaunchAndNoWorkspaceSize) {
  const KernelTable real = cpu_kernels(), dry = dry_twin_of(real);
  const auto a = std::bit_cast<Pointers>(real), b = std::bit_cast<Pointers>(dry);
  std::set<std::uintptr_t> kept;
  constexpr std::size_t first = offsetof(KernelTable, stats) / sizeof(std::uintptr_t);  // before it are plain values
  for (std::size_t i = first; i < a.size(); ++i) {
    if (a[i] == b[i]) kept.insert(a[i]);
  }
  const auto address = [](auto f) { return std::bit_cast<std::uintptr_t>(f); };
  EXPECT_EQ(kept, (std::set<std::uintptr_t>{
                      address(real.gemm_workspace), address(real.embedding_backward_workspace),
                      address(real.rmsnorm_backward_workspace), address(real.attention_forward_workspace),
                      address(real.attention_backward_workspace), address(real.span_attention_workspace),
                      address(real.sum_of_squares_workspace)}));
}

/// One pass over the ops without memory; returns the scratch that they asked for.
std::int64_t dry_scratch(Stream& stream, const AttentionShape& s) {
  Arena scratch = Arena::measure("scratch");
  const KernelTable kernels = dry_twin_of(kernels_of(stream));
  NoExchange exchange;
  OpContext op{stream, kernels, scratch, exchange};
  const auto t = [](std::int64_t rows, std::int64_t columns) {
    return Tensor{nullptr, DType::bf16, {rows, columns}, nullptr};
  };
  const std::int64_t n = s.batch * s.seq, q = s.heads * s.head_dim, kv = s.kv_heads * s.head_dim;
  const LinearRecipe recipe = test::float8_linear("w"), rowwise = test::float8_linear("w", {.recipe = "rowwise"});
  const auto codes = [&](std::int64_t rows, std::int64_t columns) {
    return Tensor{nullptr, DType::e4m3, {rows, columns}, nullptr};
  };
  linear_forward(op, recipe, codes(n, q), codes(kv, q), t(n, kv));
  linear_forward(op, rowwise, codes(n, q), rowwise->weight_for_output(op, t(kv, q)), t(n, kv));
  measure(op, t(n, q), {});
  EXPECT_EQ(recipe->grad_output(op, t(n, q), {}).for_input.data, nullptr);
  scratch.rewind(0);
  const Qkv inputs{t(n, q), t(n, kv), t(n, kv)};
  attention_forward(op, s, {}, inputs, {t(n, q)});
  attention_backward(op, s, {}, inputs, {t(n, q)}, t(n, q), {t(n, q), t(n, kv), t(n, kv)});
  const Tensor weight{nullptr, DType::bf16, {q}, nullptr}, d_weight{nullptr, DType::f32, {q}, nullptr};
  add_rmsnorm(op, t(n, q), t(n, q), weight, 1e-5f, t(n, q), {t(n, q)}, nullptr);
  rmsnorm_backward(op, t(n, q), {t(n, q), weight, nullptr}, ResidualGradient::in_dh, {t(n, q)}, {d_weight});
  return scratch.high_water();
}

TEST(DryRun, OpsTouchNoMemoryAndAskForTheScratchTheyWillUse) {
  const auto stream = cpu_device().make_stream();
  const AttentionShape s{.batch = 2, .seq = 40, .heads = 4, .kv_heads = 2, .head_dim = 16, .dtype = DType::bf16};
  const std::int64_t at_least = std::max(cpu_kernels().attention_forward_workspace({.shape = s}),
                                         cpu_kernels().attention_backward_workspace({.shape = s}));
  EXPECT_GT(at_least, 0);
  EXPECT_GE(dry_scratch(*stream, s), at_least);
}

}  // namespace
}  // namespace octet
