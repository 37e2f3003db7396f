#include "kernels/rope.h"

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/device/float8.cuh"
#include "kernels/cuda/host/launch.h"
#include "kernels/cuda/layers/rope.cuh"

namespace octet::cuda {
namespace {

using namespace rope_parts;

constexpr int threads = 256;
/// That share one read of the sines and cosines; two where a cast takes registers too, which sm_80 has not for four.
template <bool casts>
constexpr int heads_per_thread = casts ? 2 : 4;

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
__device__ __forceinline__ void read_floats(const float* p, float (&v)[size]) {
  constexpr int step = size < 4 ? size : 4;
#pragma unroll
  for (int j = 0; j < size; j += step) {
    const auto part = read<step == 4, step>(p + j, step);
#pragma unroll
    for (int k = 0; k < step; ++k) v[j + k] = part.v[k];
  }
}

/// Where a head of q or of k begins in its tensor.
__device__ __forceinline__ std::int64_t head_at(const Rope& args, unsigned q_heads, std::int64_t token, unsigned head) {
  const std::int64_t row = head < q_heads ? token * q_heads + head : token * args.k.count + (head - q_heads);
  return row * args.head_dim;
}
template <typename T>
__device__ __forceinline__ T* tensor_of(const Rope& args, unsigned q_heads, unsigned head) {
  return static_cast<T*>(head < q_heads ? args.q.x : args.k.x);
}

/// The codes of neighbouring elements, to y.
template <typename T, int size>
__device__ __forceinline__ void write_cast(std::uint8_t* y, const Float8Cast& cast, const Chunk<T, size>& x) {
  if constexpr (size >= 4) {
    write_codes<true, size>(y, cast(x), size);
  } else {
    static_assert(size == 1);
    *y = static_cast<std::uint8_t>(float8_codes(to_float(x.v[0]) * cast.scale, 0.0f, 0.0f, 0.0f, cast.to_e4m3));
  }
}

/// Reads and writes every element once, and the tables once a token and `heads_per_thread` heads, mostly from the
/// caches: 2 · sizeof(T) bytes an element and 8 bytes a position and pair. `size` pairs a thread and head: those of
/// 16 bytes, or 1 where they cannot be read at once. `casts`: of q or k the float8 form is written in place of itself.
template <typename T, int size, bool casts>
__global__ void __launch_bounds__(threads) rope_kernel(Rope args, std::int64_t work, unsigned head_step) {
  const std::int64_t half = args.head_dim / 2;
  const auto packs = static_cast<unsigned>(half / size), heads = static_cast<unsigned>(args.heads());
  const unsigned q_heads = q_heads_of(args);
  const float direction = args.inverse ? -1.0f : 1.0f;
  const std::int64_t stride = std::int64_t{gridDim.x} * threads;
  StatsFold q_fold, k_fold;
  Float8Cast q_cast, k_cast;
  if constexpr (casts) q_cast = float8_cast(args.q.float8), k_cast = float8_cast(args.k.float8);
  for (std::int64_t index = std::int64_t{blockIdx.x} * threads + threadIdx.x; index < work; index += stride) {
    const Work w = work_of(index, packs, head_step);
    const std::int64_t angle = position_of(args, w.token) * half + w.pair * size;
    Angles<size> by;
    read_floats(args.cos + angle, by.cos);
    read_floats(args.sin + angle, by.sin);
#pragma unroll
    for (int j = 0; j < size; ++j) by.sin[j] *= direction;
    Chunk<T, size> a[heads_per_thread<casts>], b[heads_per_thread<casts>];
#pragma unroll
    for (int k = 0; k < heads_per_thread<casts>; ++k) {
      const unsigned head = w.head + static_cast<unsigned>(k) * head_step;
      if (head < heads) {
        const T* x = tensor_of<T>(args, q_heads, head) + head_at(args, q_heads, w.token, head) + w.pair * size;
        a[k] = read<(size > 1), size>(x, size);
        b[k] = read<(size > 1), size>(x + half, size);
      }
    }
#pragma unroll
    for (int k = 0; k < heads_per_thread<casts>; ++k) {
      const unsigned head = w.head + static_cast<unsigned>(k) * head_step;
      if (head < heads) {
        const bool in_q = head < q_heads;
        const std::int64_t at = head_at(args, q_heads, w.token, head) + w.pair * size;
        const StatsFold fold = rotate(a[k], b[k], by);
        q_fold.add(fold, in_q);
        k_fold.add(fold, !in_q);
        if constexpr (casts) {
          auto* y = static_cast<std::uint8_t*>(in_q ? args.q.float8.y : args.k.float8.y);
          const Float8Cast cast{in_q ? q_cast.scale : k_cast.scale, in_q ? q_cast.to_e4m3 : k_cast.to_e4m3};
          if (y != nullptr) {
            write_cast(y + at, cast, a[k]);
            write_cast(y + at + half, cast, b[k]);
            continue;
          }
        }
        T* x = tensor_of<T>(args, q_heads, head) + at;
        write<(size > 1)>(x, a[k], size);
        write<(size > 1)>(x + half, b[k], size);
      }
    }
  }
  if (args.q.x != nullptr) q_fold.publish(args.q.stats);
  if (args.k.x != nullptr) k_fold.publish(args.k.stats);
}

bool transposed(const RopeHeads& of) {
  return of.float8.wanted() && of.float8.y_transposed != nullptr;
}

template <typename T, int size, bool casts>
void launch(Stream& stream, const Rope& args) {
  const std::int64_t head_step = ceil_div(args.heads(), heads_per_thread<casts>);
  const std::int64_t work = args.batch * args.seq * head_step * (args.head_dim / 2 / size);
  if (work >= std::int64_t{1} << 32) throw internal_error("kernels", "rope: {} units of work in one call", work);
  rope_kernel<T, size, casts>
      <<<blocks_for(work, threads), threads, 0, native(stream)>>>(args, work, static_cast<unsigned>(head_step));
}

template <typename T, int size>
void launch_rows(Stream& stream, const Rope& args) {
  const bool casts = args.q.float8.wanted() || args.k.float8.wanted();
  casts ? launch<T, size, true>(stream, args) : launch<T, size, false>(stream, args);
}

}  // namespace

void rope(Stream& stream, const Rope& args) {
  if (args.batch * args.seq * args.heads() * args.head_dim == 0) return;
  dispatch_storage(args.dtype, [&]<typename T>(T) {
    constexpr int size = Pack<T>::size;
    const bool wide = args.head_dim / 2 % size == 0 && aligned(16, args.q.x, args.k.x, args.cos, args.sin) &&
                      aligned(size, args.q.float8.y, args.k.float8.y);
    if (transposed(args.q) || transposed(args.k)) {
      return launch_tiles<T>(native(stream), args, wide);
    }
    wide ? launch_rows<T, size>(stream, args) : launch_rows<T, 1>(stream, args);
  });
  check_launch("rope");
}

}  // namespace octet::cuda
