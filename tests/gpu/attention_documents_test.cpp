// Octet's own kernels leave out the tiles of other documents; they do not multiply them by zero.
#include <algorithm>
#include <limits>

#include "kernels/cuda_settings.h"
#include "tests/gpu/gpu_test.h"

namespace octet::gpu_test {
namespace {

constexpr std::int64_t tile = 64;  // of queries and of keys, at this head dim
constexpr std::int64_t tiles = 5;
constexpr AttentionShape sizes{1, tiles* tile, 4, 2, 64, 0.125f, DType::bf16};

/// Where documents of these lengths begin, again and again until the row is full.
std::vector<std::int32_t> begins(const std::vector<std::int64_t>& lengths) {
  std::vector<std::int32_t> begin;
  for (std::size_t next = 0; std::ssize(begin) < sizes.seq; ++next) {
    const std::int64_t first = std::ssize(begin), end = std::min(sizes.seq, first + lengths[next % lengths.size()]);
    begin.resize(static_cast<std::size_t>(end), static_cast<std::int32_t>(first));
  }
  return begin;
}

template <typename T>
struct Outputs {
  std::vector<T> o, dq, dk, dv;
};

class GpuDocuments : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    set_cuda_settings({.document_attention = DocumentAttention::own});
  }
  void TearDown() override { set_cuda_settings({}); }

  /// Both passes on the device, with NaN in the tokens of a tile, or in none where it is negative.
  template <typename T>
  Outputs<T> run(const std::vector<std::int32_t>& begin, std::int64_t bad) {
    AttentionShape s = sizes;
    if (std::is_same_v<T, float>) s.dtype = DType::f32;
    const auto input = [&](std::int64_t heads, unsigned seed) {
      std::vector<T> x = normal<T>(s.seq * heads * s.head_dim, seed);
      const std::int64_t of_tile = tile * heads * s.head_dim;
      if (bad >= 0) std::fill_n(x.begin() + bad * of_tile, of_tile, T(std::numeric_limits<float>::quiet_NaN()));
      return Both<T>(*gpu_stream, std::move(x));
    };
    const auto output = [&](std::int64_t heads) { return Both<T>::output(*gpu_stream, s.seq * heads * s.head_dim); };
    Both<T> q = input(s.heads, 1), k = input(s.kv_heads, 2), v = input(s.kv_heads, 3), d_o = input(s.heads, 4);
    Both<T> o = output(s.heads), dq = output(s.heads), dk = output(s.kv_heads), dv = output(s.kv_heads);
    auto log_sum_exp = Both<float>::output(*gpu_stream, s.heads * s.seq);
    std::vector<std::int32_t> starts;
    for (std::size_t t = 0; t < begin.size(); ++t) {
      if (begin[t] == static_cast<std::int32_t>(t)) starts.push_back(begin[t]);
    }
    const std::int64_t places = document_places(std::ssize(starts));
    starts.resize(static_cast<std::size_t>(places + 1), static_cast<std::int32_t>(s.seq));
    Both<std::int32_t> begin_on_gpu(*gpu_stream, begin), starts_on_gpu(*gpu_stream, starts);
    const PackedDocuments documents{begin_on_gpu.gpu(), starts_on_gpu.gpu(), places, s.seq};

    AttentionForward forward{s, q.gpu(), k.gpu(), v.gpu(), o.gpu(), log_sum_exp.gpu(), nullptr, documents};
    auto forward_space = Both<unsigned char>::output(*gpu_stream, gpu().attention_forward_workspace(forward));
    forward.workspace = forward_space.gpu();
    gpu().attention_forward(*gpu_stream, forward);
    AttentionBackward backward{s,        q.gpu(),  k.gpu(),  v.gpu(), o.gpu(),  d_o.gpu(), log_sum_exp.gpu(),
                               dq.gpu(), dk.gpu(), dv.gpu(), nullptr, documents};
    auto backward_space = Both<unsigned char>::output(*gpu_stream, gpu().attention_backward_workspace(backward));
    backward.workspace = backward_space.gpu();
    gpu().attention_backward(*gpu_stream, backward);
    return {o.download(), dq.download(), dk.download(), dv.download()};
  }

  template <typename T>
  static bool same_in_tile(const std::vector<T>& a, const std::vector<T>& b, std::int64_t index) {
    const std::size_t elements = a.size() / tiles, first = static_cast<std::size_t>(index) * elements;
    return std::memcmp(&a[first], &b[first], elements * sizeof(T)) == 0;
  }

  /// As tests/kernels/attention_documents_test.cpp: tile by tile of NaN, what no query sees together with it keeps its
  /// bits.
  template <typename T>
  void expect_other_tiles_unread(const std::vector<std::int64_t>& lengths) {
    const std::vector<std::int32_t> begin = begins(lengths);
    const auto sees = [&](std::int64_t queries, std::int64_t keys) {
      return keys <= queries && begin[static_cast<std::size_t>(queries * tile)] < (keys + 1) * tile;
    };
    const Outputs<T> clean = run<T>(begin, -1);
    for (std::int64_t bad = 0; bad < tiles; ++bad) {
      const Outputs<T> got = run<T>(begin, bad);
      EXPECT_TRUE(std::isnan(static_cast<float>(got.o[got.o.size() / tiles * static_cast<std::size_t>(bad)])));
      for (std::int64_t t = 0; t < tiles; ++t) {
        SCOPED_TRACE(testing::Message() << "first document of " << lengths[0] << ", NaN in tile " << bad << ", tile "
                                        << t);
        bool together = false;  // some queries see both: their NaN goes into the gradients of all their keys
        for (std::int64_t i = 0; i < tiles; ++i) together |= sees(i, bad) && sees(i, t);
        if (!sees(t, bad)) {
          EXPECT_TRUE(same_in_tile(got.o, clean.o, t));
          EXPECT_TRUE(same_in_tile(got.dq, clean.dq, t));
        }
        if (!together) {
          EXPECT_TRUE(same_in_tile(got.dk, clean.dk, t));
          EXPECT_TRUE(same_in_tile(got.dv, clean.dv, t));
        }
      }
    }
  }
};

TEST_F(GpuDocuments, TilesOfOthersAreNotRead) {
  for (const std::vector<std::int64_t>& lengths :
       std::vector<std::vector<std::int64_t>>{{128, 64}, {100, 90}, {64}, {1, 70}}) {
    expect_other_tiles_unread<float>(lengths);
    expect_other_tiles_unread<bf16>(lengths);
  }
}

}  // namespace
}  // namespace octet::gpu_test
