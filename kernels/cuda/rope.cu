#include "kernels/rope.h"

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/stats_fold.cuh"

namespace octet::cuda {
namespace {

constexpr int threads = 256;
/// That share one read of the sines and cosines.
constexpr int heads_per_thread = 4;

/// A thread's work: `size` neighbouring pairs of one token, in every `head_step`-th head from `head` on. Heads are
/// counted through, those of k behind those of q.
struct Work {
  std::int64_t token;
  unsigned head, head_step, pair;
};

/// Threads of a warp go along the pairs of a head, then over heads, then over tokens.
__device__ __forceinline__ Work work_of(std::int64_t index, unsigned packs, unsigned head_step) {
  const auto i = static_cast<unsigned>(index);  // see rope: fewer than 2^32
  return {.token = i / (packs * head_step), .head = i / packs % head_step, .head_step = head_step, .pair = i % packs};
}

template <int size>
struct Angles {
  float cos[size], sin[size];
};

template <int size>
__device__ __forceinline__ void read_floats(const float* p, float (&v)[size]) {
  constexpr int step = size < 4 ? size : 4;
#pragma unroll
  for (int j = 0; j < size; j += step) {
    const auto part = read<step == 4, step>(p + j, step);
#pragma unroll
    for (int k = 0; k < step; ++k) v[j + k] = part.v[k];
  }
}

/// (a, b) -> (a · cos - b · sin, b · cos + a · sin), rounded to T; returns their statistics.
template <typename T, int size>
__device__ __forceinline__ StatsFold rotate(Chunk<T, size>& a, Chunk<T, size>& b, const Angles<size>& by) {
  StatsFold fold;
#pragma unroll
  for (int j = 0; j < size; ++j) {
    const float x = to_float(a.v[j]), y = to_float(b.v[j]);
    a.v[j] = from_float<T>(x * by.cos[j] - y * by.sin[j]);
    b.v[j] = from_float<T>(y * by.cos[j] + x * by.sin[j]);
    fold.add(to_float(a.v[j]));
    fold.add(to_float(b.v[j]));
  }
  return fold;
}

/// The first of the thread's pairs in one head.
template <typename T>
__device__ __forceinline__ T* pairs_at(const Rope& args, unsigned q_heads, std::int64_t token, unsigned head) {
  const bool in_q = head < q_heads;
  const std::int64_t row = in_q ? token * q_heads + head : token * args.k.count + (head - q_heads);
  return static_cast<T*>(in_q ? args.q.x : args.k.x) + row * args.head_dim;
}

/// Reads and writes every element once, and the tables once a token and `heads_per_thread` heads, mostly from the
/// caches: 2 · sizeof(T) bytes an element and 8 bytes a position and pair. `size` pairs a thread and head: those of
/// 16 bytes, or 1 where they cannot be read at once.
template <typename T, int size>
__global__ void __launch_bounds__(threads) rope_kernel(Rope args, std::int64_t work, unsigned head_step) {
  const std::int64_t half = args.head_dim / 2;
  const auto packs = static_cast<unsigned>(half / size), heads = static_cast<unsigned>(args.heads());
  const auto q_heads = static_cast<unsigned>(args.q.x == nullptr ? 0 : args.q.count);
  const float direction = args.inverse ? -1.0f : 1.0f;
  const std::int64_t stride = std::int64_t{gridDim.x} * threads;
  StatsFold q_fold, k_fold;
  for (std::int64_t index = std::int64_t{blockIdx.x} * threads + threadIdx.x; index < work; index += stride) {
    const Work w = work_of(index, packs, head_step);
    unsigned position = static_cast<unsigned>(w.token) % static_cast<unsigned>(args.seq);
    if (args.document_begin != nullptr) position -= static_cast<unsigned>(args.document_begin[w.token]);
    const std::int64_t angle = position * half + w.pair * size;
    Angles<size> by;
    read_floats(args.cos + angle, by.cos);
    read_floats(args.sin + angle, by.sin);
#pragma unroll
    for (int j = 0; j < size; ++j) by.sin[j] *= direction;
    Chunk<T, size> a[heads_per_thread], b[heads_per_thread];
#pragma unroll
    for (int k = 0; k < heads_per_thread; ++k) {
      const unsigned head = w.head + static_cast<unsigned>(k) * head_step;
      if (head < heads) {
        const T* x = pairs_at<T>(args, q_heads, w.token, head) + w.pair * size;
        a[k] = read<(size > 1), size>(x, size);
        b[k] = read<(size > 1), size>(x + half, size);
      }
    }
#pragma unroll
    for (int k = 0; k < heads_per_thread; ++k) {
      const unsigned head = w.head + static_cast<unsigned>(k) * head_step;
      if (head < heads) {
        T* x = pairs_at<T>(args, q_heads, w.token, head) + w.pair * size;
        const StatsFold fold = rotate(a[k], b[k], by);
        q_fold.add(fold, head < q_heads);
        k_fold.add(fold, head >= q_heads);
        write<(size > 1)>(x, a[k], size);
        write<(size > 1)>(x + half, b[k], size);
      }
    }
  }
  if (args.q.x != nullptr) q_fold.publish(args.q.stats);
  if (args.k.x != nullptr) k_fold.publish(args.k.stats);
}

template <typename T, int size>
void launch(Stream& stream, const Rope& args) {
  const std::int64_t head_step = ceil_div(args.heads(), heads_per_thread);
  const std::int64_t work = args.batch * args.seq * head_step * (args.head_dim / 2 / size);
  if (work >= std::int64_t{1} << 32) throw internal_error("kernels", "rope: {} units of work in one call", work);
  rope_kernel<T, size>
      <<<blocks_for(work, threads), threads, 0, native(stream)>>>(args, work, static_cast<unsigned>(head_step));
}

}  // namespace

void rope(Stream& stream, const Rope& args) {
  for (const RopeHeads& heads : {args.q, args.k}) {
    if (heads.x != nullptr) prepare(heads.stats, native(stream));
  }
  if (args.batch * args.seq * args.heads() * args.head_dim == 0) return;
  dispatch_storage(args.dtype, [&]<typename T>(T) {
    constexpr int size = Pack<T>::size;
    const bool wide = args.head_dim / 2 % size == 0 && aligned(16, args.q.x, args.k.x, args.cos, args.sin);
    wide ? launch<T, size>(stream, args) : launch<T, 1>(stream, args);
  });
  check_launch("rope");
}

}  // namespace octet::cuda
