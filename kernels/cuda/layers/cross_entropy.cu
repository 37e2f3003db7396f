#include "kernels/cross_entropy.h"

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/device/cluster.cuh"
#include "kernels/cuda/device/shared_memory.cuh"
#include "kernels/cuda/host/launch.h"
#include "kernels/cuda/layers/logit_rows.cuh"

namespace octet::cuda {
namespace {

using namespace logit_rows;

/// One block a row, which reads it twice where a gradient is wanted.
template <int V, typename T>
__global__ void __launch_bounds__(most_threads) cross_entropy_rows(CrossEntropy args) {
  const std::int64_t row = blockIdx.x;
  const float* x = args.logits + row * args.vocab;
  T* d = args.d_logits == nullptr ? nullptr : static_cast<T*>(args.d_logits) + row * args.vocab;
  const std::int32_t target = args.targets[row];
  if (target < 0) return write_zeros<V>(args.losses + row, d, args.vocab);  // the whole block
  const float at_target = x[target];  // before d overwrites it, which is after the barrier in sum_row
  const OnlineSum softmax = sum_row<V>(x, args.vocab);
  if (threadIdx.x == 0) args.losses[row] = loss_of(softmax, static_cast<double>(at_target));
  if (d != nullptr) write_gradient<V>(x, d, args.vocab, softmax, target, args.scale);
}

constexpr unsigned cluster_blocks = 8, cluster_threads = most_threads / cluster_blocks;
constexpr int cluster_warps = cluster_threads / 32;

/// Floats of shared memory before the row's slots: the maxima and the sums of the block's warps, for this row and for
/// the one before, which other blocks may be reading still.
constexpr int partials = 2 * 2 * cluster_warps;
static_assert(partials % 4 == 0);

/// Slots of 16 bytes that a thread needs for its logits of a row, in whole rounds of sum_row.
constexpr std::int64_t slots_of(std::int64_t vocab) {
  return ceil_div(vocab, std::int64_t{most_threads} * unroll * 4) * unroll;
}
constexpr std::int64_t cluster_shared(std::int64_t vocab) {
  return (partials + slots_of(vocab) * cluster_threads * 4) * static_cast<std::int64_t>(sizeof(float));
}

/// The sum of the cluster's threads, in the order of merge_block. `of_warps`: [2, cluster_warps] in shared memory.
__device__ __forceinline__ OnlineSum merge_cluster(OnlineSum sum, float* of_warps) {
  merge_warp(sum);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (lane == 0) {
    of_warps[warp] = sum.max;
    of_warps[cluster_warps + warp] = sum.sum;
  }
  cluster_barrier();
  const float* other = in_block(of_warps, lane / cluster_warps);
  sum = {other[lane % cluster_warps], other[cluster_warps + lane % cluster_warps]};
  merge_warp(sum);
  return sum;
}

/// A cluster a row, which reads it once: its 1024 threads keep their logits in shared memory, each its own, from the
/// sum to the gradient. As a thread writes gradients, it has the next row's logits brought to the places that become
/// free. Threads have the logits that those of cross_entropy_rows have, in the same order: the same bits.
///
/// With 12 warps a multiprocessor, instructions count: the gradient at the target, which has a division of its own, is
/// written after the thread's others, over what they left there (an H100 takes 0.83 of the time so).
template <typename T>
__global__ void __launch_bounds__(cluster_threads) cross_entropy_clusters(CrossEntropy args) {
  static_assert(cluster_blocks * cluster_warps == 32);
  auto* of_warps = dynamic_shared<float>();
  auto* own = dynamic_shared<Pack<float>>() + partials / 4 + threadIdx.x;
  const unsigned thread = cluster_rank() * cluster_threads + threadIdx.x;  // of the row's
  const std::int64_t step = gridDim.x / cluster_blocks;
  const auto slots = static_cast<int>(slots_of(args.vocab)), groups = static_cast<int>(args.vocab / 4);
  const auto group = [thread](int slot) { return slot * most_threads + static_cast<int>(thread); };
  const auto fetch = [&](std::int64_t row, int first) {
    if (row >= args.rows) return;
    const float* logits = args.logits + row * args.vocab;
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const int g = group(first + u);
      if (g < groups) copy_async(own + (first + u) * cluster_threads, logits + std::int64_t{g} * 4);
    }
  };
  std::int64_t row = blockIdx.x / cluster_blocks;
  for (int s = 0; s < slots; s += unroll) fetch(row, s);
  commit_copies();
  std::int32_t next_target = args.targets[row];
  for (int parity = 0; row < args.rows; row += step) {
    const std::int32_t target = next_target;
    if (row + step < args.rows) next_target = args.targets[row + step];
    float at_target = 0.0f;
    if (thread == 0 && target >= 0) at_target = args.logits[row * args.vocab + target];  // before d overwrites it
    wait_for_copies<0>();
    OnlineSum softmax{.max = 0.0f, .sum = 1.0f};
    if (target >= 0) {  // the whole cluster
      softmax = {};
      for (int s = 0; s < slots; s += unroll) {
        float v[unroll][4];
#pragma unroll
        for (int u = 0; u < unroll; ++u) {
          Pack<float> pack{-infinity, -infinity, -infinity, -infinity};
          if (group(s + u) < groups) pack = own[(s + u) * cluster_threads];
#pragma unroll
          for (int j = 0; j < 4; ++j) v[u][j] = pack.v[j];
        }
        softmax.add(reinterpret_cast<const float(&)[unroll * 4]>(v));
      }
      softmax = merge_cluster(softmax, of_warps + parity * 2 * cluster_warps);
      parity ^= 1;
    }
    if (thread == 0) args.losses[row] = target < 0 ? 0.0f : loss_of(softmax, static_cast<double>(at_target));
    T* d = static_cast<T*>(args.d_logits) + row * args.vocab;
    const float factor = args.scale / softmax.sum;
    const bool has_target = target >= 0 && target / 4 % most_threads == static_cast<int>(thread);
    T of_target{};
    if (has_target) {
      const float logit = own[target / 4 / most_threads * cluster_threads].v[target % 4];
      of_target = from_float<T>(gradient_of(logit, softmax, true, args.scale, factor));
    }
    for (int s = 0; s < slots; s += unroll) {
      Pack<float> packs[unroll];
#pragma unroll
      for (int u = 0; u < unroll; ++u) {
        if (group(s + u) < groups) packs[u] = own[(s + u) * cluster_threads];
      }
      fetch(row + step, s);  // what was there is in registers
#pragma unroll
      for (int u = 0; u < unroll; ++u) {
        if (group(s + u) >= groups) continue;
        float v[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          v[j] = target < 0 ? 0.0f : gradient_of(packs[u].v[j], softmax, false, args.scale, factor);
        }
        write<4>(d + std::int64_t{group(s + u)} * 4, v);
      }
    }
    commit_copies();
    if (has_target) d[target] = of_target;
  }
  cluster_barrier();  // others may be reading this block's sums
}

/// False where the device has no clusters, or the row is not worth one or too long.
template <typename T>
bool launch_clusters_for(const CrossEntropy& args, cudaStream_t stream) {
  if (args.d_logits == nullptr || threads_for(args.vocab) != most_threads ||
      cluster_shared(args.vocab) > std::int64_t{1} << 20 || !aligned_to_16(args.vocab * 4, args.logits, args.d_logits))
    return false;
  const auto kernel = cross_entropy_clusters<T>;
  const ClusterShape shape{cluster_blocks, cluster_threads, static_cast<int>(cluster_shared(args.vocab))};
  const int clusters = resident_clusters(reinterpret_cast<const void*>(kernel), shape);
  if (clusters == 0) return false;
  launch_clusters(kernel, shape, static_cast<unsigned>(std::min<std::int64_t>(clusters, args.rows)), stream, args);
  return true;
}

template <typename T>
void launch(const CrossEntropy& args, cudaStream_t stream) {
  if (launch_clusters_for<T>(args, stream)) return;
  const unsigned threads = threads_for(args.vocab);
  // 16-byte reads; the gradient's stores are as aligned as it is.
  if (aligned_to_16(args.vocab * 4, args.logits, args.d_logits)) {
    cross_entropy_rows<4, T><<<static_cast<unsigned>(args.rows), threads, 0, stream>>>(args);
  } else {
    cross_entropy_rows<1, T><<<static_cast<unsigned>(args.rows), threads, 0, stream>>>(args);
  }
  check_launch("cross_entropy");
}

}  // namespace

/// Must move rows · vocab · 4 bytes for the losses, and for the gradient rows · vocab · sizeof(d_dtype); where a row is
/// not kept in shared memory, the gradient reads the logits again, in part from the L2 cache.
void cross_entropy(Stream& stream, const CrossEntropy& args) {
  if (args.rows == 0) return;
  dispatch_storage(args.d_dtype, [&]<typename T>(T) { launch<T>(args, native(stream)); });
}

}  // namespace octet::cuda
