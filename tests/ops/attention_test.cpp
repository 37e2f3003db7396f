#include "src/ops/attention.h"
#include "src/ops/rope.h"

#include "src/ops/norm.h"
#include "tests/ops/ops_test.h"

namespace octet {
namespace {

using test::random_values;
using test::view;

TEST(DocumentLists, NameTheFirstTokenOfEachDocument) {
  const std::vector<std::int32_t> begin = {0, 0, 2, 3, 0, 0, 0, 0};
  const DocumentList list = list_documents(begin, 4);
  EXPECT_EQ(list.starts, (std::vector<std::int32_t>{0, 2, 3, 4, 8}));
  EXPECT_EQ(list.places(), 4);
  EXPECT_EQ(list.longest, 4);
}

TEST(DocumentLists, HaveRoomBehindTheLastOne) {
  std::vector<std::int32_t> begin(64);
  for (std::int32_t t = 0; t < 64; ++t) begin[static_cast<std::size_t>(t)] = t % 32 / 5 * 5;
  const DocumentList list = list_documents(begin, 32);
  EXPECT_EQ(list.places(), 16);  // for 14
  EXPECT_EQ(list.starts[13], 32 + 30);
  EXPECT_EQ((std::vector(list.starts.begin() + 14, list.starts.end())), (std::vector<std::int32_t>{64, 64, 64}));
  EXPECT_EQ(list.longest, 8);  // for 5
}

struct Attention : test::OpsTest {
  AttentionShape s{.batch = 2, .seq = 20, .heads = 4, .kv_heads = 2, .head_dim = 8, .scale = 0.3f, .dtype = DType::f32};
  std::int64_t n = s.batch * s.seq, q_dim = s.heads * s.head_dim, kv_dim = s.kv_heads * s.head_dim;
  std::vector<float> q = random_values(n * q_dim, 1), k = random_values(n * kv_dim, 2),
                     v = random_values(n * kv_dim, 3);
  std::vector<float> o = std::vector<float>(q.size(), NAN), lse = std::vector<float>(std::size_t(n * s.heads), NAN);

  Qkv inputs() const { return {view(q, {n, q_dim}), view(k, {n, kv_dim}), view(v, {n, kv_dim})}; }
  Attended out() { return {view(o, {n, q_dim}), lse.data()}; }
  void forward() { attention_forward(op_, s, {}, inputs(), out()); }

  /// The definition, in double: one row of scores at a time.
  std::vector<double> reference() const {
    std::vector<double> result(q.size(), 0.0);
    for (std::int64_t b = 0; b < s.batch; ++b) {
      for (std::int64_t h = 0; h < s.heads; ++h) {
        for (std::int64_t t = 0; t < s.seq; ++t) row(b, h, t, result);
      }
    }
    return result;
  }
  void row(std::int64_t b, std::int64_t h, std::int64_t t, std::vector<double>& result) const {
    const auto at_q = [&](std::int64_t d) {
      return static_cast<std::size_t>((b * s.seq + t) * q_dim + h * s.head_dim + d);
    };
    const auto at_kv = [&](std::int64_t u, std::int64_t d) {
      return static_cast<std::size_t>((b * s.seq + u) * kv_dim + h / (s.heads / s.kv_heads) * s.head_dim + d);
    };
    double sum = 0;
    std::vector<double> weight;
    for (std::int64_t u = 0; u <= t; ++u) {
      double score = 0;
      for (std::int64_t d = 0; d < s.head_dim; ++d) score += double{q[at_q(d)]} * double{k[at_kv(u, d)]};
      weight.push_back(std::exp(double{s.scale} * score));
      sum += weight.back();
    }
    for (std::int64_t u = 0; u <= t; ++u) {
      for (std::int64_t d = 0; d < s.head_dim; ++d) {
        result[at_q(d)] += weight[static_cast<std::size_t>(u)] / sum * double{v[at_kv(u, d)]};
      }
    }
  }
};

TEST_F(Attention, ForwardEqualsTheDefinition) {
  forward();
  EXPECT_LT(test::distance(o, reference()), 1e-6);
}

/// Two rows as queries that see their own row's past, in two pieces.
TEST_F(Attention, ToSpansEqualsTheDefinitionAndGivesItsScratchBack) {
  std::vector<std::int32_t> spans;
  for (std::int32_t t = 0; t < 40; ++t) {
    const std::int32_t begin = t / 20 * 20, middle = begin + (t - begin) / 3;
    spans.insert(spans.end(), {begin, middle, middle, t + 1});
  }
  const SpanAttentionShape to_spans{n, n, s.heads, s.kv_heads, s.head_dim, s.scale, s.dtype};
  const std::int64_t mark = scratch_.mark();
  const auto run = [&](const Tensor& keys) {
    span_attention(op_, to_spans, {inputs().q, keys, inputs().v}, out().o, spans.data(), 20);
  };
  run(inputs().k);
  EXPECT_LT(test::distance(o, reference()), 1e-6);
  EXPECT_EQ(scratch_.mark(), mark);
  EXPECT_THROW(run(view(k, {n / 2, 2 * kv_dim})), Error);
}

TEST_F(Attention, BackwardHandsOnEveryTensor) {
  forward();
  const auto d_o = random_values(n * q_dim, 4);
  std::vector<float> dq(q.size()), dk(k.size()), dv(v.size()), dq2(q.size()), dk2(k.size()), dv2(v.size());
  attention_backward(op_, s, {}, inputs(), out(), view(d_o, {n, q_dim}),
                     {view(dq, {n, q_dim}), view(dk, {n, kv_dim}), view(dv, {n, kv_dim})});
  AttentionBackward direct{.shape = s,
                           .q = q.data(),
                           .k = k.data(),
                           .v = v.data(),
                           .o = o.data(),
                           .d_o = d_o.data(),
                           .log_sum_exp = lse.data(),
                           .dq = dq2.data(),
                           .dk = dk2.data(),
                           .dv = dv2.data()};
  const ArenaScope scope(scratch_);  // kernels want aligned memory
  direct.workspace = scratch_.allocate(op_.kernels.attention_backward_workspace(direct));
  op_.kernels.attention_backward(*stream_, direct);
  EXPECT_TRUE(test::same_bits(dq, dq2) && test::same_bits(dk, dk2) && test::same_bits(dv, dv2));
  EXPECT_NE(dk, dv);
}

TEST_F(Attention, ScratchIsTakenAndGivenBack) {
  void* before = scratch_.allocate(100);
  const std::int64_t mark = scratch_.mark();
  forward();
  EXPECT_EQ(scratch_.mark(), mark);
  EXPECT_GE(scratch_.high_water(), mark + op_.kernels.attention_forward_workspace({.shape = s}));
  EXPECT_NE(before, nullptr);
  scratch_.rewind(0);
}

/// Where rows may share a beginning and do not, nothing is computed for it, and its scratch is not beside attention's.
TEST_F(Attention, WithoutASharedBeginningIsTheOrdinaryOne) {
  KernelTable kernels = op_.kernels;
  kernels.attention_forward_workspace = [](const AttentionForward&) { return std::int64_t{4096}; };
  kernels.attention_forward = [](Stream&, const AttentionForward&) {};
  kernels.span_attention_workspace = [](const SpanAttention&) { return std::int64_t{8192}; };
  kernels.span_attention = [](Stream&, const SpanAttention&) { ADD_FAILURE() << "no token sees a span"; };
  Arena scratch(cpu_device(), 1 << 14, Purpose::workspace, "scratch");
  OpContext op{.stream = op_.stream, .kernels = kernels, .scratch = scratch, .exchange = op_.exchange};
  attention_forward(op, s, {.may_share = true}, inputs(), out());
  EXPECT_EQ(scratch.high_water(), 8192);
  EXPECT_EQ(scratch.mark(), 0);
}

struct Rope : test::OpsTest {
  static constexpr std::int64_t seq = 300, head_dim = 16, half = head_dim / 2;
  static std::vector<double> frequencies() {
    std::vector<double> f;
    for (std::int64_t i = 0; i < half; ++i) f.push_back(std::pow(500000.0, -static_cast<double>(i) / half));
    return f;
  }
  RopeTable table{cpu_device(), *stream_, seq, frequencies()};
};

TEST_F(Rope, TableHoldsTheRoundedAngles) {
  const float *cos = table.cos.view().as<float>(), *sin = table.sin.view().as<float>();
  EXPECT_EQ(table.cos.view().shape, (Shape{seq, half}));
  EXPECT_EQ(cos[0], 1.0f);
  EXPECT_EQ(sin[0], 0.0f);
  for (std::int64_t t = 0; t < seq; ++t) {
    for (std::int64_t i = 0; i < half; ++i) {
      // theta^(-2i/d) by logarithms: another way to the same number
      const double angle = static_cast<double>(t) * std::exp(-static_cast<double>(i) / half * std::log(500000.0));
      ASSERT_NEAR(cos[t * half + i], std::cos(angle), 6e-8) << t << " " << i;
      ASSERT_NEAR(sin[t * half + i], std::sin(angle), 6e-8) << t << " " << i;
    }
  }
}

TEST_F(Rope, RotatesHalvesByPositionWithinASequence) {
  constexpr std::int64_t batch = 2, heads = 3, n = 2 * seq;
  const auto x = random_values(n * heads * head_dim, 5);
  auto y = x;
  const Produced q{view(y, {n, heads * head_dim})};
  rope(op_, table, q, {}, batch, {}, Rotation::forth);
  const std::int64_t row = seq + 7, head = 2, i = 3;  // position 7 of the second sequence
  const auto at = static_cast<std::size_t>((row * heads + head) * head_dim + i);
  const double angle = 7.0 * std::pow(500000.0, -2.0 * i / head_dim), a = x[at], b = x[at + half];
  EXPECT_NEAR(y[at], a * std::cos(angle) - b * std::sin(angle), 1e-6);
  EXPECT_NEAR(y[at + half], b * std::cos(angle) + a * std::sin(angle), 1e-6);
  rope(op_, table, {}, q, batch, {}, Rotation::back);
  EXPECT_LT(test::distance(y, x), 2e-7);
}

struct Norm : test::OpsTest {
  static constexpr std::int64_t n = 10, dim = 24;
  std::vector<float> residual = random_values(n * dim, 1), branch = random_values(n * dim, 2),
                     weight = random_values(dim, 3);
  std::vector<float> sum = residual, y = residual, inverse_rms = std::vector<float>(n);

  Tensor of(const std::vector<float>& x) const { return view(x, {n, dim}); }
};

TEST_F(Norm, ForwardEqualsTheDefinition) {
  add_rmsnorm(op_, of(residual), of(branch), view(weight, {dim}), 1e-5f, of(sum), {of(y)}, inverse_rms.data());
  std::vector<double> expected;
  for (std::size_t r = 0; r < n; ++r) {
    double squares = 0;
    for (std::size_t c = 0; c < dim; ++c) squares += std::pow(double{residual[r * dim + c]} + branch[r * dim + c], 2);
    for (std::size_t c = 0; c < dim; ++c) {
      expected.push_back((double{residual[r * dim + c]} + branch[r * dim + c]) / std::sqrt(squares / dim + 1e-5) *
                         weight[c]);
    }
  }
  EXPECT_LT(test::distance(y, expected), 3e-7);
}

TEST_F(Norm, BackwardAddsToTheResidualGradientUnlessFirst) {
  add_rmsnorm(op_, of(residual), of(branch), view(weight, {dim}), 1e-5f, of(sum), {of(y)}, inverse_rms.data());
  const auto dy = random_values(n * dim, 4), direct = random_values(n * dim, 5);
  std::vector<float> first(n * dim, NAN), added = direct, dw(dim, NAN), dw_twice(dim, 0.0f);
  const auto run = [&](std::vector<float>& dh, ResidualGradient residual, std::vector<float>& d_weight, bool add) {
    rmsnorm_backward(op_, of(dy), {of(sum), view(weight, {dim}), inverse_rms.data()}, residual, {of(dh)},
                     {view(d_weight, {dim}), add});
  };
  run(first, ResidualGradient::none, dw, false);
  run(added, ResidualGradient::in_dh, dw_twice, true);
  auto expected = direct;
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += first[i];
  EXPECT_LT(test::distance(added, expected), 2e-7);
  EXPECT_LT(test::distance(dw_twice, dw), 1e-7);
}

}  // namespace
}  // namespace octet
