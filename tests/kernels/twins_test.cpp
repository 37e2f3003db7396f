// The tables whose entries watch and time those of the plain one.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstddef>
#include <set>
#include <vector>

#include "kernels/table.h"
#include "src/base/heartbeat.h"
#include "src/profile/timeline.h"

namespace octet {
namespace {

using Pointers = std::array<std::uintptr_t, sizeof(KernelTable) / sizeof(std::uintptr_t)>;

void expect_every_launch_and_no_workspace_size(const KernelTable& timed) {
  const KernelTable& plain = cpu_kernels();
  const auto a = std::bit_cast<Pointers>(plain), b = std::bit_cast<Pointers>(timed);
  std::set<std::uintptr_t> kept, replaced;
  constexpr std::size_t first = offsetof(KernelTable, stats) / sizeof(std::uintptr_t);  // before it are plain values
  for (std::size_t i = first; i < a.size(); ++i) (a[i] == b[i] ? kept : replaced).insert(b[i]);
  const auto address = [](auto f) { return std::bit_cast<std::uintptr_t>(f); };
  EXPECT_EQ(kept, (std::set<std::uintptr_t>{
                      address(plain.gemm_workspace), address(plain.embedding_backward_workspace),
                      address(plain.rmsnorm_backward_workspace), address(plain.attention_forward_workspace),
                      address(plain.attention_backward_workspace), address(plain.span_attention_workspace),
                      address(plain.sum_of_squares_workspace)}));
  EXPECT_EQ(replaced.size(), a.size() - first - kept.size()) << "an entry stands in two places";
  EXPECT_EQ(timed.float8_gemm_k_major, plain.float8_gemm_k_major);
  EXPECT_EQ(timed.logits_bytes, plain.logits_bytes);
}

TEST(TimedKernels, AreEveryLaunchAndNoWorkspaceSize) {
  expect_every_launch_and_no_workspace_size(timed_kernels(DeviceType::cpu));
}

TEST(WatchedKernels, AreEveryLaunchAndNoWorkspaceSize) {
  expect_every_launch_and_no_workspace_size(watched_kernels(DeviceType::cpu));
}

/// With and without a Timeline.
TEST(WatchedKernels, TellTheHeartbeatTheirNames) {
  const auto stream = cpu_device().make_stream();
  const std::vector<float> x = {1, 2}, b = {1, 0, 0, 1};
  std::vector<float> y = {10, 20}, c(2);
  heartbeat::watch(true);
  for (const auto* table : {&watched_kernels(DeviceType::cpu), &timed_kernels(DeviceType::cpu)}) {
    const std::uint64_t before = heartbeat::count();
    table->accumulate(*stream, {.x = x.data(), .y = y.data(), .n = 2});
    EXPECT_STREQ(heartbeat::last(), "accumulate");
    table->gemm(*stream, {.a = {.data = x.data()}, .b = {.data = b.data()}, .c = c.data(), .m = 1, .n = 2, .k = 2});
    EXPECT_STREQ(heartbeat::last(), "gemm");
    EXPECT_EQ(heartbeat::count(), before + 2);
  }
  heartbeat::watch(false);
}

TEST(TimedKernels, AreHandedOutWhileATimelineLives) {
  const auto stream = cpu_device().make_stream();
  EXPECT_EQ(&kernels_of(*stream), &watched_kernels(DeviceType::cpu));
  {
    Timeline timeline(*stream);
    EXPECT_EQ(&kernels_of(*stream), &timed_kernels(DeviceType::cpu));
  }
  EXPECT_EQ(&kernels_of(*stream), &watched_kernels(DeviceType::cpu));
}

TEST(TimedKernels, DoTheSameAndAreSpans) {
  const auto stream = cpu_device().make_stream();
  Timeline timeline(*stream);
  const KernelTable& kernels = kernels_of(*stream);
  const std::vector<float> x = {1, 2, 3, 4}, b = {1, 0, 0, 1};
  std::vector<float> y = {10, 20, 30, 40}, c(4);
  timeline.begin();
  timeline.begin_step(1);
  kernels.accumulate(*stream, {.x = x.data(), .y = y.data(), .n = 4});
  kernels.gemm(*stream, {.a = {.data = x.data()}, .b = {.data = b.data()}, .c = c.data(), .m = 2, .n = 2, .k = 2});
  const Recording r = timeline.end();
  EXPECT_EQ(y, (std::vector<float>{11, 22, 33, 44}));
  EXPECT_EQ(c, x);
  ASSERT_EQ(r.spans.size(), 2u);
  EXPECT_EQ(r.spans[0].name, "accumulate");
  EXPECT_EQ(r.spans[0].kind, SpanKind::memory_bound);
  EXPECT_EQ(r.spans[0].bytes, 4 * 12);
  EXPECT_EQ(r.spans[1].name, "gemm");
  EXPECT_EQ(r.spans[1].kind, SpanKind::gemm);
  EXPECT_EQ(r.spans[1].bytes, 3 * 16);
  EXPECT_GE(r.spans[1].begin, r.spans[0].end);
}

TEST(BytesMoved, AreThoseOfTheOperands) {
  EXPECT_EQ(
      (Gemm{.a = {.dtype = DType::e4m3}, .b = {.dtype = DType::e5m2}, .c_dtype = DType::bf16, .m = 2, .n = 3, .k = 5})
          .bytes_moved(),
      10 + 15 + 12);
  EXPECT_EQ((Gemm{.a = {}, .b = {}, .m = 2, .n = 3, .k = 5, .beta = 1}).bytes_moved(), 40 + 60 + 2 * 24);
  const AttentionShape shape{.batch = 2, .seq = 3, .heads = 4, .kv_heads = 2, .head_dim = 8, .dtype = DType::bf16};
  const std::int64_t q = 2 * 3 * 4 * 8 * 2, kv = q / 2, log_sum_exp = 2 * 3 * 4 * 4;
  EXPECT_EQ((AttentionForward{.shape = shape}).bytes_moved(), 2 * q + 2 * kv + log_sum_exp);
  EXPECT_EQ((AttentionBackward{.shape = shape}).bytes_moved(), 4 * q + 4 * kv + log_sum_exp);
  char y = 0;
  EXPECT_EQ((CastToFloat8{.from = DType::f32, .y = &y, .n = 10}).bytes_moved(), 50);
  EXPECT_EQ((CastToFloat8{.from = DType::bf16, .y = &y, .n = 10, .y_transposed = &y}).bytes_moved(), 40);
  EXPECT_EQ((SwigluForward{.y = &y, .dtype = DType::bf16, .n = 10, .stats = {}, .float8 = {.y = &y}}).bytes_moved(),
            70);
  SwigluBackward swiglu{.dtype = DType::bf16, .n = 10, .gate_stats = {}, .up_stats = {}};
  EXPECT_EQ(swiglu.bytes_moved(), 60) << "gradients that are only measured";
  swiglu.d_gate = swiglu.d_up = &y;
  EXPECT_EQ(swiglu.bytes_moved(), 100);
  AddRmsNormForward norm{.dtype = DType::bf16, .rows = 3, .dim = 4, .stats = {}};
  EXPECT_EQ(norm.bytes_moved(), 3 * 4 * 2 + 12) << "an output that is not stored";
  norm.y = &y;
  EXPECT_EQ(norm.bytes_moved(), 3 * 4 * 4 + 12);
  norm.branch = &y;
  EXPECT_EQ(norm.bytes_moved(), 3 * 4 * 8 + 12);
  EXPECT_EQ((AdamWUpdate{.n = 10, .stats = {}}).bytes_moved(), 280);
  EXPECT_EQ((AdamWUpdate{.gradient_dtype = DType::bf16, .n = 10, .stats = {}}).bytes_moved(), 260);
  int place = 0;
  EXPECT_EQ((AdamWUpdate{.n = 10, .rounded = &place, .stats = {}}).bytes_moved(), 300);
  EXPECT_EQ((AdamWUpdate{.n = 10, .float8 = {.y = &place}, .stats = {}}).bytes_moved(), 290);
  AdamWUpdates several = AdamWUpdate{.n = 10, .stats = {}};
  several.add({.n = 5, .stats = {}});
  EXPECT_EQ(several.bytes_moved(), 420);
}

}  // namespace
}  // namespace octet
