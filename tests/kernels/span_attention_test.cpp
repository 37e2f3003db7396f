#include "kernels/span_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "kernels/cpu/attention/span_keys.h"
#include "tests/kernels/kernel_test.h"

namespace octet {
namespace {

using namespace test;
using Spans = std::vector<std::int32_t>;

SpanAttentionShape span_shape(std::int64_t queries, std::int64_t keys, std::int64_t heads, std::int64_t kv_heads,
                              std::int64_t head_dim) {
  return {queries,   keys, heads, kv_heads, head_dim, static_cast<float>(1 / std::sqrt(static_cast<double>(head_dim))),
          DType::f32};
}

/// The definition in double, over the keys that spans name. NaN where a query sees none: its output is left alone.
std::vector<double> span_reference(const SpanAttentionShape& s, const std::vector<double>& q,
                                   const std::vector<double>& k, const std::vector<double>& v, const Spans& spans) {
  std::vector<double> o(q.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::int64_t i = 0; i < s.queries; ++i) {
    const std::int32_t* span = spans.data() + 4 * i;
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const std::int64_t row = (i * s.heads + h) * s.head_dim;
      std::vector<double> sum(static_cast<std::size_t>(s.head_dim));
      double total = 0, largest = -std::numeric_limits<double>::infinity();
      const auto each_key = [&](auto&& f) {
        for (std::int64_t j = 0; j < s.keys; ++j) {
          if (!((j >= span[0] && j < span[1]) || (j >= span[2] && j < span[3]))) continue;
          const std::int64_t at = (j * s.kv_heads + h / (s.heads / s.kv_heads)) * s.head_dim;
          double score = 0;
          for (std::int64_t d = 0; d < s.head_dim; ++d) {
            score += q[static_cast<std::size_t>(row + d)] * k[static_cast<std::size_t>(at + d)];
          }
          f(score * static_cast<double>(s.scale), at);
        }
      };
      each_key([&](double score, std::int64_t) { largest = std::max(largest, score); });
      each_key([&](double score, std::int64_t at) {
        const double p = std::exp(score - largest);
        total += p;
        for (std::int64_t d = 0; d < s.head_dim; ++d) {
          sum[static_cast<std::size_t>(d)] += p * v[static_cast<std::size_t>(at + d)];
        }
      });
      for (std::int64_t d = 0; d < s.head_dim && total > 0; ++d) {
        o[static_cast<std::size_t>(row + d)] = sum[static_cast<std::size_t>(d)] / total;
      }
    }
  }
  return o;
}

/// Keys that nobody sees are NaN, so that reading one shows; o is NaN where it is not written.
template <typename T>
struct Case {
  SpanAttentionShape s;
  Spans spans;
  std::vector<T> q, k, v;

  Case(SpanAttentionShape shape, Spans of_queries) : s(shape), spans(std::move(of_queries)) {
    s.dtype = dtype_of<T>::value;
    q = stored<T>(random_values(s.queries * s.heads * s.head_dim, 1, 1.5));
    k = stored<T>(random_values(s.keys * s.kv_heads * s.head_dim, 2, 1.5));
    v = stored<T>(random_values(s.keys * s.kv_heads * s.head_dim, 3));
    for (std::int64_t j = 0; j < s.keys; ++j) {
      bool seen = false;
      for (std::size_t i = 0; i < spans.size(); i += 2) seen = seen || (j >= spans[i] && j < spans[i + 1]);
      const std::int64_t row = s.kv_heads * s.head_dim;
      for (std::int64_t d = 0; !seen && d < row; ++d) {
        k[static_cast<std::size_t>(j * row + d)] = v[static_cast<std::size_t>(j * row + d)] = T(nan_f32);
      }
    }
  }

  std::vector<T> run() const {
    std::vector<T> o(q.size(), T(nan_f32));
    SpanAttention args{s, q.data(), k.data(), v.data(), o.data(), spans.data(), s.keys, nullptr};
    const auto workspace = make_workspace(cpu::span_attention_workspace(args));
    args.workspace = workspace.get();
    cpu::span_attention(stream(), args);
    return o;
  }

  /// To a relative error that is right for scores of some units.
  void expect_as_defined(double tolerance = sizeof(T) == 4 ? 2e-6 : 0x1p-8) const {
    SCOPED_TRACE(fmt::format("{}: {} queries, {} keys, heads {}/{}, dim {}", name_of(s.dtype), s.queries, s.keys,
                             s.heads, s.kv_heads, s.head_dim));
    const std::vector<double> want = span_reference(s, widened(q), widened(k), widened(v), spans), got = widened(run());
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(std::isnan(got[i]), std::isnan(want[i])) << "element " << i;
      if (std::isnan(want[i])) continue;
      difference += (got[i] - want[i]) * (got[i] - want[i]);
      norm += want[i] * want[i];
    }
    EXPECT_LE(std::sqrt(difference), tolerance * std::sqrt(norm));
  }
};

void expect_as_defined(const SpanAttentionShape& s, const Spans& spans) {
  Case<float>(s, spans).expect_as_defined();
  Case<bf16>(s, spans).expect_as_defined();
}

/// Queries behind a prefix that all share, each with its own past behind it.
Spans behind_a_prefix(std::int64_t queries, std::int32_t prefix, std::int32_t first) {
  Spans spans;
  for (std::int32_t i = 0; i < queries; ++i) spans.insert(spans.end(), {0, prefix, first, first + i + 1});
  return spans;
}

TEST(SpanAttention, OneQueryAgainstACache) {
  for (const std::int32_t seen : {1, 64, 65, 512, 1200}) {
    expect_as_defined(span_shape(1, 1300, 4, 2, 64), {0, seen, 0, 0});
    expect_as_defined(span_shape(1, 1300, 4, 2, 64), {0, 0, 1300 - seen, 1300});
  }
  expect_as_defined(span_shape(1, 5000, 8, 1, 40), {0, 4800, 4900, 4999});
}

TEST(SpanAttention, OddSizes) {
  expect_as_defined(span_shape(1, 1, 1, 1, 1), {0, 1, 0, 0});
  expect_as_defined(span_shape(2, 7, 3, 1, 7), {0, 2, 3, 7, 1, 6, 0, 0});
  expect_as_defined(span_shape(3, 70, 6, 2, 35), {0, 70, 0, 0, 5, 6, 69, 70, 0, 1, 2, 3});
  expect_as_defined(span_shape(2, 600, 70, 1, 12), {0, 100, 300, 600, 0, 600, 0, 0});  // more heads than rows of a tile
  expect_as_defined(span_shape(1, 40, 2, 1, 256), {3, 40, 0, 2});                      // the second span lies before
}

TEST(SpanAttention, QueriesBehindASharedPrefix) {
  expect_as_defined(span_shape(100, 700, 4, 2, 32), behind_a_prefix(100, 500, 550));
  expect_as_defined(span_shape(100, 700, 4, 4, 24), behind_a_prefix(100, 500, 500));
  expect_as_defined(span_shape(90, 300, 48, 24, 8),
                    behind_a_prefix(90, 120, 150));  // enough tiles: keys are not in parts
}

TEST(SpanAttention, QueriesThatSeeNothingAreLeftAlone) {
  expect_as_defined(span_shape(5, 900, 4, 2, 16),
                    {7, 7, 9, 9, 0, 800, 0, 0, 0, 0, 0, 0, 600, 601, 0, 0, 0, 0, 899, 900});
  expect_as_defined(span_shape(2, 10, 2, 2, 16), Spans(8, 0));
  Spans mostly_none(4 * 200, 0);
  for (const std::size_t i : {3u, 4u, 150u}) mostly_none[4 * i + 1] = 20 + static_cast<std::int32_t>(i);
  expect_as_defined(span_shape(200, 200, 32, 16, 8), mostly_none);
}

TEST(SpanAttention, LargeScoresDoNotOverflow) {
  Case<float> c(span_shape(2, 300, 2, 1, 32), {0, 300, 0, 0, 10, 20, 100, 250});
  for (float& x : c.q) x *= 200.0f;
  c.expect_as_defined(1e-3);  // the last bit of a score of 2,000 is 1e-4
}

TEST(SpanAttention, AsCausalAttention) {
  const AttentionShape causal{1, 150, 6, 2, 40, 0.2f, DType::f32};
  Case<float> c({150, 150, 6, 2, 40, 0.2f, DType::f32}, [] {
    Spans spans;
    for (std::int32_t i = 0; i < 150; ++i) spans.insert(spans.end(), {0, i / 2, i / 2, i + 1});
    return spans;
  }());
  std::vector<float> o(c.q.size()), sums(6 * 150);
  AttentionForward args{causal, c.q.data(), c.k.data(), c.v.data(), o.data(), sums.data(), nullptr};
  const auto workspace = make_workspace(cpu::attention_forward_workspace(args));
  args.workspace = workspace.get();
  cpu::attention_forward(stream(), args);
  EXPECT_LT(relative_error(c.run(), o), 1e-6);
}

TEST(SpanAttention, SameBitsForAnyThreads) {
  expect_same_bits_for_any_threads(
      [c = Case<bf16>(span_shape(1, 3000, 8, 2, 64), {0, 2900, 0, 0})] { return c.run(); });
  expect_same_bits_for_any_threads(
      [c = Case<float>(span_shape(90, 300, 48, 24, 8), behind_a_prefix(90, 120, 150))] { return c.run(); });
}

TEST(SpanAttention, RefusesAHeadThatIsTooWide) {
  EXPECT_THROW(cpu::span_attention_workspace({.shape = span_shape(1, 4, 1, 1, 257)}), Error);
}

TEST(SpanKeys, AreThoseThatAnyQuerySees) {
  const Spans spans = {0, 3, 10, 12, 0, 3, 11, 14, 2, 4, 20, 30};
  cpu::attention::SpanKeys keys(spans.data(), 3, 1, 22);
  EXPECT_FALSE(keys.uniform());
  std::vector<std::int32_t> all;
  std::int32_t some[4];
  while (const std::int64_t n = keys.next(some, 4)) all.insert(all.end(), some, some + n);
  EXPECT_EQ(all, (Spans{1, 2, 3, 10, 11, 12, 13, 20, 21}));
  cpu::attention::SpanKeys same(Spans{0, 2, 5, 6, 0, 2, 5, 6}.data(), 2, 0, 9);
  EXPECT_TRUE(same.uniform());
}

TEST(SpanAttentionWork, IsThatOfTheLongest) {
  const SpanAttention args{.shape = {.queries = 3, .keys = 900, .heads = 4, .kv_heads = 2, .head_dim = 8},
                           .longest = 100};
  EXPECT_EQ(args.flops(), 4.0 * 3 * 4 * 8 * 100);
  EXPECT_EQ(args.bytes_moved(), 2 * (2 * 3 * 4 * 8 + 2 * 100 * 2 * 8) + 3 * 16);
}

}  // namespace
}  // namespace octet
