#include "kernels/cuda/attention/attention_fallback.h"
#include "src/base/error.h"
#include "tests/gpu/gpu_test.h"

namespace octet::gpu_test {
namespace {

AttentionShape fallback_shape(std::int64_t batch, std::int64_t seq, std::int64_t heads, std::int64_t kv_heads,
                              std::int64_t head_dim) {
  return {.batch = batch,
          .seq = seq,
          .heads = heads,
          .kv_heads = kv_heads,
          .head_dim = head_dim,
          .scale = 1.0f / std::sqrt(static_cast<float>(head_dim))};
}

/// Tiles whole, broken and single; groups of 1, 2, 3 and all; each of the three tile widths, filled and not.
const AttentionShape shapes[] = {
    fallback_shape(1, 1, 1, 1, 8),     fallback_shape(2, 33, 4, 2, 16),  fallback_shape(1, 64, 2, 1, 64),
    fallback_shape(2, 65, 3, 1, 64),   fallback_shape(1, 130, 4, 4, 48), fallback_shape(1, 97, 2, 2, 128),
    fallback_shape(1, 129, 6, 2, 128), fallback_shape(1, 70, 2, 1, 256), fallback_shape(1, 40, 2, 1, 200),
    fallback_shape(1, 31, 1, 1, 7),    fallback_shape(1, 256, 4, 1, 72), fallback_shape(3, 32, 2, 2, 1)};

class GpuAttentionFallback : public GpuTest {
 protected:
  template <typename T>
  struct Tensors {
    Tensors(Stream& stream, const AttentionShape& s)
        : q(stream, normal<T>(s.batch * s.seq * s.heads * s.head_dim, 1)),
          k(stream, normal<T>(s.batch * s.seq * s.kv_heads * s.head_dim, 2)),
          v(stream, normal<T>(s.batch * s.seq * s.kv_heads * s.head_dim, 3)),
          d_o(stream, normal<T>(q.size(), 4)),
          o(Both<T>::output(stream, q.size())),
          dq(Both<T>::output(stream, q.size())),
          dk(Both<T>::output(stream, k.size())),
          dv(Both<T>::output(stream, k.size())),
          log_sum_exp(Both<float>::output(stream, s.batch * s.heads * s.seq)) {}
    Both<T> q, k, v, d_o, o, dq, dk, dv;
    Both<float> log_sum_exp;

    AttentionForward forward(const AttentionShape& s, T* (Both<T>::*at)(), float* (Both<float>::*f32_at)()) {
      return {.shape = s,
              .q = (q.*at)(),
              .k = (k.*at)(),
              .v = (v.*at)(),
              .o = (o.*at)(),
              .log_sum_exp = (log_sum_exp.*f32_at)()};
    }
    AttentionBackward backward(const AttentionShape& s, T* (Both<T>::*at)(), float* (Both<float>::*f32_at)()) {
      return {.shape = s,
              .q = (q.*at)(),
              .k = (k.*at)(),
              .v = (v.*at)(),
              .o = (o.*at)(),
              .d_o = (d_o.*at)(),
              .log_sum_exp = (log_sum_exp.*f32_at)(),
              .dq = (dq.*at)(),
              .dk = (dk.*at)(),
              .dv = (dv.*at)()};
    }
  };

  template <typename T>
  void compare(AttentionShape s) {
    s.dtype = dtype_of<T>::value;
    SCOPED_TRACE(fmt::format("{}: batch {}, seq {}, heads {}/{}, head_dim {}", name_of(s.dtype), s.batch, s.seq,
                             s.heads, s.kv_heads, s.head_dim));
    Tensors<T> t(*gpu_stream, s);
    const double tolerance = sizeof(T) == 4 ? 5e-6 : 6e-3;

    AttentionForward forward = t.forward(s, &Both<T>::cpu, &Both<float>::cpu);
    std::vector<char> space(static_cast<std::size_t>(cpu.attention_forward_workspace(forward)) + 64);
    forward.workspace = aligned(space);
    cpu.attention_forward(*cpu_stream, forward);
    cuda::fallback_attention_forward(*gpu_stream, t.forward(s, &Both<T>::gpu, &Both<float>::gpu));
    expect_close(t.o, tolerance, "o");
    expect_close(t.log_sum_exp, 2e-6, "log_sum_exp");

    AttentionBackward backward = t.backward(s, &Both<T>::cpu, &Both<float>::cpu);
    space.resize(static_cast<std::size_t>(cpu.attention_backward_workspace(backward)) + 64);
    backward.workspace = aligned(space);
    cpu.attention_backward(*cpu_stream, backward);
    run_backward(t, s);
    if (s.seq > 1) {
      expect_close(t.dq, tolerance, "dq");
      expect_close(t.dk, tolerance, "dk");
    } else {  // one probability, which is 1: both are zero but for rounding
      expect_zero(t.dq, "dq");
      expect_zero(t.dk, "dk");
    }
    expect_close(t.dv, tolerance, "dv");
    expect_same_bits(t.q, "q");
    expect_same_bits(t.d_o, "d_o");
  }

  template <typename T>
  static void expect_zero(Both<T>& array, const char* what) {
    for (const T& x : array.download()) EXPECT_LE(std::abs(static_cast<float>(x)), 1e-5f) << what;
  }

  template <typename T>
  void run_backward(Tensors<T>& t, const AttentionShape& s) {
    AttentionBackward args = t.backward(s, &Both<T>::gpu, &Both<float>::gpu);
    auto space = Both<unsigned char>::output(*gpu_stream, cuda::fallback_attention_backward_workspace(args.shape));
    args.workspace = space.gpu();
    cuda::fallback_attention_backward(*gpu_stream, args);
    space.download();  // its guards
  }

  static void* aligned(std::vector<char>& space) {
    void* p = space.data();
    std::size_t bytes = space.size();
    return std::align(64, bytes - 63, p, bytes);
  }
};

TEST_F(GpuAttentionFallback, AsOnTheCpu) {
  for (const AttentionShape& s : shapes) {
    compare<float>(s);
    compare<bf16>(s);
  }
}

/// A block of compute capability 8.6 or 8.9 has 99 KiB, which is too little for some of an H100's tiles.
TEST_F(GpuAttentionFallback, AsOnTheCpuWithLessSharedMemory) {
  if (!is_emulated()) GTEST_SKIP() << "of a GPU that is emulated";
  setenv("OCTET_EMULATED_SHARED", "101376", 1);
  for (const AttentionShape& s : shapes) {
    compare<float>(s);
    compare<bf16>(s);
  }
  unsetenv("OCTET_EMULATED_SHARED");
}

TEST_F(GpuAttentionFallback, BackwardHasTheSameBitsEachRun) {
  AttentionShape s = fallback_shape(2, 200, 8, 2, 64);
  Tensors<bf16> t(*gpu_stream, s);
  cuda::fallback_attention_forward(*gpu_stream, t.forward(s, &Both<bf16>::gpu, &Both<float>::gpu));
  std::vector<std::vector<bf16>> runs;
  for (int run = 0; run < 3; ++run) {
    run_backward(t, s);
    runs.push_back(t.dk.download());
    EXPECT_EQ(std::memcmp(runs[0].data(), runs.back().data(), runs[0].size() * sizeof(bf16)), 0);
  }
}

/// Needs no device.
TEST(AttentionFallback, RefusesAHeadThatIsTooWide) {
  const auto stream = cpu_device().make_stream();
  EXPECT_THROW(cuda::fallback_attention_forward(*stream, {.shape = fallback_shape(1, 4, 1, 1, 257)}), Error);
}

}  // namespace
}  // namespace octet::gpu_test
