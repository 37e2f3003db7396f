#include "kernels/span_attention.h"

#include <fmt/format.h>

#include "src/base/error.h"
#include "tests/gpu/gpu_test.h"

namespace octet::gpu_test {
namespace {

using Spans = std::vector<std::int32_t>;

SpanAttentionShape span_shape(std::int64_t queries, std::int64_t keys, std::int64_t heads, std::int64_t kv_heads,
                              std::int64_t head_dim) {
  return {.queries = queries,
          .keys = keys,
          .heads = heads,
          .kv_heads = kv_heads,
          .head_dim = head_dim,
          .scale = 1.0f / std::sqrt(static_cast<float>(head_dim))};
}

class GpuSpanAttention : public GpuTest {
 protected:
  template <typename T>
  void compare(SpanAttentionShape s, const Spans& of_queries) {
    s.dtype = dtype_of<T>::value;
    SCOPED_TRACE(fmt::format("{}: {} queries, {} keys, heads {}/{}, head_dim {}", name_of(s.dtype), s.queries, s.keys,
                             s.heads, s.kv_heads, s.head_dim));
    Both<T> q(*gpu_stream, normal<T>(s.queries * s.heads * s.head_dim, 1));
    Both<T> k(*gpu_stream, unseen_poisoned<T>(s, of_queries, 2)), v(*gpu_stream, unseen_poisoned<T>(s, of_queries, 3));
    Both<std::int32_t> spans(*gpu_stream, of_queries);
    Both<T> o(*gpu_stream, normal<T>(q.size(), 9));  // of a query that sees nothing it stays

    SpanAttention args{s, q.cpu(), k.cpu(), v.cpu(), o.cpu(), spans.cpu(), s.keys, nullptr};
    std::vector<char> space(static_cast<std::size_t>(cpu.span_attention_workspace(args)) + 64);
    void* aligned = space.data();
    std::size_t bytes = space.size();
    args.workspace = std::align(64, bytes - 63, aligned, bytes);
    cpu.span_attention(*cpu_stream, args);

    args = {s, q.gpu(), k.gpu(), v.gpu(), o.gpu(), spans.gpu(), s.keys, nullptr};
    auto workspace = Both<unsigned char>::output(*gpu_stream, gpu().span_attention_workspace(args));
    args.workspace = workspace.gpu();
    gpu().span_attention(*gpu_stream, args);
    workspace.download();  // its guards
    expect_close(o, sizeof(T) == 4 ? 5e-6 : 6e-3, "o");
    const std::vector<T> first = o.download();
    gpu().span_attention(*gpu_stream, args);
    EXPECT_EQ(std::memcmp(first.data(), o.download().data(), first.size() * sizeof(T)), 0) << "another run's bits";
  }

  void compare_both(const SpanAttentionShape& s, const Spans& spans) {
    compare<float>(s, spans);
    compare<bf16>(s, spans);
  }

 private:
  /// Keys that no query sees are NaN: reading one shows.
  template <typename T>
  static std::vector<T> unseen_poisoned(const SpanAttentionShape& s, const Spans& spans, unsigned seed) {
    const std::int64_t row = s.kv_heads * s.head_dim;
    std::vector<T> x = normal<T>(s.keys * row, seed);
    for (std::int64_t j = 0; j < s.keys; ++j) {
      bool seen = false;
      for (std::size_t i = 0; i < spans.size(); i += 2) seen = seen || (j >= spans[i] && j < spans[i + 1]);
      for (std::int64_t d = 0; !seen && d < row; ++d) x[static_cast<std::size_t>(j * row + d)] = T(NAN);
    }
    return x;
  }
};

TEST_F(GpuSpanAttention, OneQueryAgainstACache) {
  for (const std::int32_t seen : {1, 127, 128, 129, 1200}) compare_both(span_shape(1, 1300, 4, 1, 64), {0, seen, 0, 0});
  compare_both(span_shape(1, 5000, 32, 8, 128), {0, 4800, 4900, 4999});
  compare_both(span_shape(1, 700, 2, 1, 256), {3, 650, 0, 2});
}

TEST_F(GpuSpanAttention, OddSizes) {
  compare_both(span_shape(1, 1, 1, 1, 1), {0, 1, 0, 0});
  compare_both(span_shape(2, 7, 3, 1, 7), {0, 2, 3, 7, 1, 6, 0, 0});
  compare_both(span_shape(2, 7, 3, 1, 7), {0, 2, 3, 7, 0, 0, 0, 0});
  compare_both(span_shape(3, 70, 6, 2, 35), {0, 70, 0, 0, 5, 6, 69, 70, 0, 1, 2, 3});
  compare_both(span_shape(2, 600, 70, 1, 136), {0, 100, 300, 600, 0, 600, 0, 0});
}

TEST_F(GpuSpanAttention, QueriesBehindASharedPrefixAndWithoutAny) {
  Spans spans;
  for (std::int32_t i = 0; i < 150; ++i)
    spans.insert(spans.end(), {0, i < 20 ? 0 : 500, i < 20 ? 0 : 550, i < 20 ? 0 : 551 + i});
  compare_both(span_shape(150, 701, 4, 2, 40), spans);
  compare_both(span_shape(150, 701, is_emulated() ? 12 : 48, is_emulated() ? 4 : 16, 64),
               spans);  // several steps for a part
}

/// Needs no device.
TEST(SpanAttentionOnCuda, RefusesAHeadThatIsTooWide) {
  if (!why_no_cuda().empty()) GTEST_SKIP() << "no CUDA device: " << why_no_cuda();
  const auto stream = cuda_device(0).make_stream();
  EXPECT_THROW(cuda_kernels().span_attention(*stream, {.shape = span_shape(1, 4, 1, 1, 257)}), Error);
}

}  // namespace
}  // namespace octet::gpu_test
