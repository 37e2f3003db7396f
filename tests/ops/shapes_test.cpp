// Every op refuses a tensor of another shape or dtype than the rest of its call needs: kernels would read and write
// beside it.
#include <functional>
#include <vector>

#include "src/ops/attention.h"
#include "src/ops/cross_entropy.h"
#include "src/ops/embedding.h"
#include "src/ops/norm.h"
#include "src/ops/reduce.h"
#include "src/ops/rope.h"
#include "src/ops/swiglu.h"
#include "tests/ops/ops_test.h"

namespace octet {
namespace {

/// A call in a dry run, in which nothing is computed, and all tensors of which it must say when they are wrong.
struct Call {
  std::string name;
  std::vector<Tensor> tensors;
  std::vector<std::string> said;  ///< the name by which each is called
  std::function<void(OpContext&, const std::vector<Tensor>&)> run;
};

constexpr std::int64_t n = 8, dim = 32, heads = 4, kv_heads = 2, head_dim = 8, vocab = 24;

Tensor bf16_of(const Shape& shape) {
  alignas(16) static std::byte somewhere{};  // rope leaves alone what has no data
  return {&somewhere, DType::bf16, shape};
}
Tensor f32_of(const Shape& shape) {
  return {nullptr, DType::f32, shape};
}

std::vector<Call> calls(const RopeTable& table) {
  const Tensor x = bf16_of({n, dim}), keys = bf16_of({n, kv_heads * head_dim}), weight = bf16_of({dim});
  const AttentionShape shape{
      .batch = 2, .seq = 4, .heads = heads, .kv_heads = kv_heads, .head_dim = head_dim, .dtype = DType::bf16};
  using Tensors = std::vector<Tensor>;
  return {
      {"rmsnorm",
       {x, x, weight, x, x},
       {"residual", "branch", "weight", "sum", "y"},
       [](OpContext& op, const Tensors& t) { add_rmsnorm(op, t[0], t[1], t[2], 1e-5f, t[3], {t[4]}, nullptr); }},
      {"rmsnorm backward",
       {x, x, weight, x, f32_of({dim})},
       {"x", "dy", "weight", "dh", "d_weight"},
       [](OpContext& op, const Tensors& t) {
         rmsnorm_backward(op, t[1], {t[0], t[2], nullptr}, ResidualGradient::none, {t[3]}, {t[4]});
       }},
      {"swiglu",
       {x, x, x},
       {"gate", "up", "y"},
       [](OpContext& op, const Tensors& t) { swiglu_forward(op, t[0], t[1], {t[2]}); }},
      {"swiglu backward",
       {x, x, x, x, x},
       {"gate", "up", "dy", "d_gate", "d_up"},
       [](OpContext& op, const Tensors& t) { swiglu_backward(op, t[0], t[1], t[2], {t[3]}, {t[4]}); }},
      {"embedding",
       {bf16_of({vocab, dim}), x},
       {"table", "out"},
       [](OpContext& op, const Tensors& t) { embedding_forward(op, nullptr, t[0], 0, t[1]); }},
      {"embedding backward",
       {x, f32_of({vocab, dim})},
       {"d_out", "d_table"},
       [](OpContext& op, const Tensors& t) { embedding_backward(op, nullptr, t[0], 0, {t[1]}); }},
      {"cross-entropy",
       {f32_of({n, vocab}), bf16_of({n, vocab})},
       {"logits", "d_logits"},
       [](OpContext& op, const Tensors& t) { cross_entropy(op, t[0], nullptr, nullptr, t[1]); }},
      {"cross-entropy",
       {f32_of({n, vocab})},
       {"logits"},
       [](OpContext& op, const Tensors& t) { cross_entropy_stats(op, t[0], nullptr, nullptr); }},
      {"rope",
       {x, keys},
       {"q", "k"},
       [&table](OpContext& op, const Tensors& t) { rope(op, table, {t[0]}, {t[1]}, 2, {}, Rotation::forth); }},
      {"attention",
       {x, keys, keys, x},
       {"q", "k", "v", "o"},
       [shape](OpContext& op, const Tensors& t) {
         attention_forward(op, shape, {}, {t[0], t[1], t[2]}, {t[3]});
       }},
      {"gradients of attention",
       {x, keys, keys, x},
       {"q", "k", "v", "o"},
       [=](OpContext& op, const Tensors& t) {
         attention_backward(op, shape, {}, {x, keys, keys}, {x}, t[3], {t[0], t[1], t[2]});
       }},
      {"attention to spans",
       {x, keys, keys, x},
       {"q", "k", "v", "o"},
       [](OpContext& op, const Tensors& t) {
         const SpanAttentionShape spans{
             .queries = n, .keys = n, .heads = heads, .kv_heads = kv_heads, .head_dim = head_dim, .dtype = DType::bf16};
         span_attention(op, spans, {t[0], t[1], t[2]}, t[3], nullptr, n);
       }},
      {"gradient",
       {f32_of({dim}), f32_of({dim})},
       {"what is left", "its target"},
       [](OpContext& op, const Tensors& t) {
         leave_gradient(op, t[0], {t[1], true});
       }},
  };
}

struct Shapes : test::OpsTest {
  KernelTable dry = dry_twin_of(kernels_of(*stream_));
  OpContext op{*stream_, dry, scratch_, exchange_};
  RopeTable table{cpu_device(), *stream_, 4, std::vector<double>(head_dim / 2, 1.0)};
};

TEST_F(Shapes, ACallThatFitsIsTaken) {
  for (const Call& call : calls(table)) {
    EXPECT_EQ(test::internal_error_of([&] { call.run(op, call.tensors); }), "") << call.name;
  }
}

TEST_F(Shapes, ATensorOfAnotherDtypeIsRefusedByItsName) {
  for (const Call& call : calls(table)) {
    for (std::size_t i = 0; i < call.tensors.size(); ++i) {
      std::vector<Tensor> wrong = call.tensors;
      wrong[i].dtype = DType::e4m3;
      const std::string message = test::internal_error_of([&] { call.run(op, wrong); });
      EXPECT_NE(message.find(call.name + ": "), std::string::npos) << message;
      EXPECT_NE(message.find(call.said[i] + " is e4m3"), std::string::npos) << call.name << ": " << message;
    }
  }
}

/// The first tensor of a call is the measure of most others: of a wrong one, some other is said not to fit.
TEST_F(Shapes, ATensorOfAnotherLengthIsRefused) {
  for (const Call& call : calls(table)) {
    if (call.tensors.size() < 2) continue;
    for (std::size_t i = 0; i < call.tensors.size(); ++i) {
      std::vector<Tensor> wrong = call.tensors;
      const Shape& shape = wrong[i].shape;
      wrong[i].shape = shape.rank() == 1 ? Shape{shape[0] + 8} : Shape{shape[0], shape[1] + 8};
      if (call.name == "rope") wrong[i].shape = Shape{shape[0] + 8, shape[1]};
      const std::string message = test::internal_error_of([&] { call.run(op, wrong); });
      EXPECT_NE(message.find(call.name + ": "), std::string::npos) << call.said[i] << ": \"" << message << "\"";
      EXPECT_NE(message.find("expected"), std::string::npos) << message;
    }
  }
}

}  // namespace
}  // namespace octet
