#include "kernels/rope.h"

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/float8.cuh"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/stats_fold.cuh"
#include "kernels/cuda/transpose_tile.cuh"

namespace octet::cuda {
namespace {

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

/// The angle's row of a token in the tables.
__device__ __forceinline__ std::int64_t position_of(const Rope& args, std::int64_t token) {
  unsigned position = static_cast<unsigned>(token) % static_cast<unsigned>(args.seq);
  if (args.document_begin != nullptr) position -= static_cast<unsigned>(args.document_begin[token]);
  return position;
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
  const auto q_heads = static_cast<unsigned>(args.q.x == nullptr ? 0 : args.q.count);
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

/// The sines or cosines of a thread's patch of a tile, of which `count` pairs are there.
template <bool wide, int size>
__device__ __forceinline__ void read_angles(const float* p, float (&v)[size], int count) {
  if constexpr (wide) {
    read_floats(p, v);
  } else {
    const auto some = read<false, size>(p, count);
#pragma unroll
    for (int j = 0; j < size; ++j) v[j] = some.v[j];
  }
}

/// As rope_kernel, by tiles of one head: 128 tokens by 8 · size pairs. 2 · sizeof(T) bytes an element where it is
/// written as it is, sizeof(T) + 2 where both float8 forms are. Elements beyond the matrix are zero in and zero out,
/// and so leave no mark on the statistics. Blocks of the same tokens follow each other: they share sines and cosines.
template <typename T, bool wide>
__global__ void __launch_bounds__(threads)
    rope_tiles_kernel(Rope args, unsigned heads, unsigned q_heads, bool wide_transposed) {
  constexpr int size = Pack<T>::size;
  __shared__ TransposeTile<size> a_tile, b_tile;
  const std::int64_t half = args.head_dim / 2, tokens = args.batch * args.seq;
  const unsigned across = static_cast<unsigned>((half + a_tile.columns - 1) / a_tile.columns);
  const unsigned head = blockIdx.x / across % heads;
  const RopeHeads of = head < q_heads ? args.q : args.k;
  const std::int64_t columns = of.count * args.head_dim;
  const std::int64_t begin = (head < q_heads ? head : head - q_heads) * args.head_dim;
  // In a matrix of the first half of this head alone.
  const TilePlace<size> place(tokens, half, blockIdx.x / (across * heads) * across + blockIdx.x % across);
  const float direction = args.inverse ? -1.0f : 1.0f;
  const Float8Cast cast = float8_cast(of.float8);
  T* x = static_cast<T*>(of.x) + begin;
  Chunk<T, size> a[4], b[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    a[i] = place.template read_row<wide>(x, columns, i);
    b[i] = place.template read_row<wide>(x + half, columns, i);
  }
  StatsFold fold;
  Codes<size> a_codes[4], b_codes[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    Angles<size> by{};
    if (i < place.rows && place.columns > 0) {
      const std::int64_t angle = position_of(args, place.row + i) * half + place.column;
      read_angles<wide>(args.cos + angle, by.cos, place.columns);
      read_angles<wide>(args.sin + angle, by.sin, place.columns);
    }
#pragma unroll
    for (int j = 0; j < size; ++j) by.sin[j] *= direction;
    fold.add(rotate(a[i], b[i], by), true);
    a_codes[i] = cast(a[i]);
    b_codes[i] = cast(b[i]);
    if (of.float8.y == nullptr) {
      place.template write_row<wide>(x, columns, i, a[i]);
      place.template write_row<wide>(x + half, columns, i, b[i]);
    } else {
      auto* y = static_cast<std::uint8_t*>(of.float8.y) + begin;
      place.template write_row<wide>(y, columns, i, a_codes[i]);
      place.template write_row<wide>(y + half, columns, i, b_codes[i]);
    }
  }
  if (of.float8.y != nullptr && of.float8.y_transposed != nullptr) {
    a_tile.put(place.patch, place.group, a_codes);
    b_tile.put(place.patch, place.group, b_codes);
    __syncthreads();
    auto* turned = static_cast<std::uint8_t*>(of.float8.y_transposed) + begin * tokens;
    a_tile.write_transposed(turned, tokens, half, place.tile_row, place.tile_column, wide_transposed);
    b_tile.write_transposed(turned + half * tokens, tokens, half, place.tile_row, place.tile_column, wide_transposed);
  }
  fold.publish(of.stats);
}

template <typename T, bool wide>
void launch_tiles(Stream& stream, const Rope& args) {
  constexpr int size = Pack<T>::size;
  const auto heads = static_cast<unsigned>(args.heads());
  const auto q_heads = static_cast<unsigned>(args.q.x == nullptr ? 0 : args.q.count);
  const std::int64_t tokens = args.batch * args.seq;
  const unsigned blocks = tiles_of<size>(tokens, args.head_dim / 2) * heads;
  rope_tiles_kernel<T, wide><<<blocks, threads, 0, native(stream)>>>(
      args, heads, q_heads, aligned_to_16(tokens, args.q.float8.y_transposed, args.k.float8.y_transposed));
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
      return wide ? launch_tiles<T, true>(stream, args) : launch_tiles<T, false>(stream, args);
    }
    wide ? launch_rows<T, size>(stream, args) : launch_rows<T, 1>(stream, args);
  });
  check_launch("rope");
}

}  // namespace octet::cuda
