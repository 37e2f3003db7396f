#pragma once

#include "kernels/adamw.h"
#include "kernels/attention.h"
#include "kernels/blockwise.h"
#include "kernels/cast.h"
#include "kernels/cross_entropy.h"
#include "kernels/delayed.h"
#include "kernels/embedding.h"
#include "kernels/fill_normal.h"
#include "kernels/gemm.h"
#include "kernels/operations.h"
#include "kernels/predicted_scales.h"
#include "kernels/reduce.h"
#include "kernels/rmsnorm.h"
#include "kernels/rope.h"
#include "kernels/rowwise.h"
#include "kernels/span_attention.h"
#include "kernels/stats.h"
#include "kernels/sum_parts.h"
#include "kernels/swiglu.h"

namespace octet {

// The two plain values of a device's table, which are known in every build, whether it has the kernels or not.
constexpr bool float8_gemm_k_major_on(DeviceType device) {
  return device == DeviceType::cuda;
}
constexpr std::int64_t logits_bytes_on(DeviceType device) {
  return std::int64_t{device == DeviceType::cuda ? 1024 : 256} << 20;
}

// NOLINTBEGIN(bugprone-macro-parentheses)
#define OCTET_MEMBER(name, Arguments, kind) void (*name)(Stream&, const Arguments&);
#define OCTET_MEMBER_WITH_WORKSPACE(name, Arguments, kind) \
  OCTET_MEMBER(name, Arguments, kind)                      \
  std::int64_t (*name##_workspace)(const Arguments&);
// NOLINTEND(bugprone-macro-parentheses)

/// Every kernel of one device. Each call is ordered on the stream; all pointers are device pointers; sizes and dtypes
/// are checked by src/ops, not here. The *_workspace functions give the bytes that the call of the same name needs.
struct KernelTable {
  /// The fp8 GEMM wants both operands with k contiguous: a not transposed, b transposed (Hopper's tensor cores).
  bool float8_gemm_k_major = false;
  /// The bytes of fp32 logits of a chunk of the output head, by what the device's memory allows. Each chunk adds to the
  /// whole fp32 weight gradient, so the larger it is, the less of the head's time goes into that.
  std::int64_t logits_bytes = logits_bytes_on(DeviceType::cpu);

  OCTET_OPERATIONS(OCTET_MEMBER, OCTET_MEMBER_WITH_WORKSPACE)
};

#undef OCTET_MEMBER
#undef OCTET_MEMBER_WITH_WORKSPACE

const KernelTable& cpu_kernels();
/// The CUDA kernels. In a build without CUDA this throws a usage error that says how to get them.
const KernelTable& cuda_kernels();
/// The one place where a stream's device selects the table: its watched_kernels, or its timed_kernels while a Timeline
/// lives; on a device without memory its dry_kernels.
const KernelTable& kernels_of(const Stream& stream);

/// The device's kernels, each of which tells the heartbeat its entry's name before it is launched: a launch blocks
/// where the device's queue is full behind work that never ends.
const KernelTable& watched_kernels(DeviceType device);
/// The same kernels, each of which is also a span of the Timeline when that records, with its entry's name.
const KernelTable& timed_kernels(DeviceType device);
/// The same kernels for a dry run. Workspace sizes are real, but instead of launching, a kernel tells the stream of its
/// work (Stream::skip), so that a plan is made by the very code of the step. `workspaces`: the device whose sizes they
/// are. Those of a GPU's kernels are known only with the GPU; the CPU's, known in every build, stand in for them.
const KernelTable& dry_kernels(DeviceType device, DeviceType workspaces);
/// These kernels as they are in a dry run, with workspaces of their own sizes.
KernelTable dry_twin_of(const KernelTable& kernels);

}  // namespace octet
