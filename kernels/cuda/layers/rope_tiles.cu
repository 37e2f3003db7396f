#include "kernels/cuda/device/float8.cuh"
#include "kernels/cuda/device/own_places.cuh"
#include "kernels/cuda/device/transpose_tile.cuh"
#include "kernels/cuda/host/launch.h"
#include "kernels/cuda/layers/rope.cuh"
#include "src/base/error.h"

namespace octet::cuda::rope_parts {
namespace {

constexpr int threads = 256;
constexpr unsigned resident_blocks = h100_multiprocessors * 2;  // by shared memory
/// That a multiprocessor is to hold. Casts without an instruction take registers that two would not have.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 890
constexpr int least_blocks = 1;
#else
constexpr int least_blocks = 2;
#endif

/// A thread's places, of its four tokens: both halves of their pairs of one tile, and, if it `keeps` them from head to
/// head, the cosines and sines of these.
template <typename T, bool wide, bool keeps>
class Places {
 public:
  static constexpr int size = Pack<T>::size;
  static constexpr int packs = size / 4;  // of a token's cosines
  static constexpr int count = 4 * (2 + (keeps ? 2 * packs : 0));

  __device__ __forceinline__ explicit Places(int4* shared) : own_(shared) {}

  __device__ __forceinline__ void bring_pairs(int i, const T* a, std::int64_t half, int there) const {
    own_.bring(2 * i, a, there);
    own_.bring(2 * i + 1, a + half, there);
  }
  __device__ __forceinline__ void bring_angles(int i, const float* cos, const float* sin, int there) const {
    if constexpr (keeps) {
#pragma unroll
      for (int p = 0; p < packs; ++p) {
        own_.bring(table(i, 0, p), cos + 4 * p, there - 4 * p);
        own_.bring(table(i, 1, p), sin + 4 * p, there - 4 * p);
      }
    }
  }
  __device__ __forceinline__ Chunk<T, size> pairs(int i, int half) const {
    return own_.template get<T>(2 * i + half);
  }
  __device__ __forceinline__ Angles<size> angles(int i, const float* cos, const float* sin, int there,
                                                 float direction) const {
    Angles<size> by;
#pragma unroll
    for (int p = 0; p < packs; ++p) {
      const auto c = four(table(i, 0, p), cos + 4 * p, there - 4 * p);
      const auto s = four(table(i, 1, p), sin + 4 * p, there - 4 * p);
#pragma unroll
      for (int j = 0; j < 4; ++j) by.cos[4 * p + j] = c.v[j], by.sin[4 * p + j] = s.v[j] * direction;
    }
    return by;
  }

 private:
  OwnPlaces<threads, wide> own_;

  __device__ __forceinline__ Chunk<float, 4> four(int place, const float* from, int there) const {
    if constexpr (keeps) {
      return own_.template get<float>(place);
    } else {
      return there > 0 ? read<wide, 4>(from, there) : Chunk<float, 4>{};
    }
  }
  __device__ __forceinline__ static int table(int i, int of_sines, int p) {
    return 4 * 2 + (2 * i + of_sines) * packs + p;
  }
};

/// A head of a tile's 128 tokens.
struct Head {
  const RopeHeads& of;
  std::int64_t columns;  ///< of its tensor
  std::int64_t begin;    ///< its first column

  __device__ __forceinline__ Head(const Rope& args, unsigned q_heads, unsigned head)
      : of(head < q_heads ? args.q : args.k),
        columns(of.count * args.head_dim),
        begin((head < q_heads ? head : head - q_heads) * args.head_dim) {}
};

/// Tiles of one head, 128 tokens by 8 · size pairs. 2 · sizeof(T) bytes an element where it is written as it is,
/// sizeof(T) + 2 where both float8 forms are. Elements beyond the matrix are zero in and zero out, and so leave no mark
/// on the statistics.
///
/// A block has the same tile of every head_step-th head: cosines and sines, twice as many bytes as a head's data, are
/// read once for all of them if it `keeps` them. Blocks of neighbouring heads and tokens go side by side, so that what
/// they read and write lies side by side too. As a thread rotates a token's pairs, it has those of the next head
/// brought to the places that become free.
template <typename T, bool wide, bool keeps>
__global__ void __launch_bounds__(threads, wide&& keeps ? least_blocks : 1)
    rope_tiles_kernel(Rope args, unsigned heads, unsigned q_heads, unsigned head_step, bool wide_transposed) {
  using Own = Places<T, wide, keeps>;
  constexpr int size = Own::size;
  __shared__ TransposeTile<size> a_tile, b_tile;
  const Own own(dynamic_shared<int4>());
  const std::int64_t half = args.head_dim / 2, tokens = args.batch * args.seq;
  const float direction = args.inverse ? -1.0f : 1.0f;
  const TilePlace<size> place(tokens, half, blockIdx.x / head_step);  // in a matrix of the first half of a head alone
  const auto there = [&place](int i) { return i < place.rows ? place.columns : 0; };
  const auto fetch = [&](unsigned number, int i) {
    if (number >= heads) return;
    const Head head(args, q_heads, number);
    own.bring_pairs(i, place.at(static_cast<const T*>(head.of.x) + head.begin, head.columns, i), half, there(i));
  };
  const auto angle = [&](int i) { return there(i) <= 0 ? 0 : position_of(args, place.row + i) * half + place.column; };
  const unsigned first = blockIdx.x % head_step;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    own.bring_angles(i, args.cos + angle(i), args.sin + angle(i), there(i));
    fetch(first, i);
  }
  commit_copies();
  StatsFold q_fold, k_fold;
  for (unsigned number = first; number < heads; number += head_step) {
    const bool in_q = number < q_heads;
    const Head head(args, q_heads, number);
    const Float8Cast cast = float8_cast(head.of.float8);
    auto* x = static_cast<T*>(head.of.x) + head.begin;
    auto* y = static_cast<std::uint8_t*>(head.of.float8.y);
    auto* y_transposed = static_cast<std::uint8_t*>(head.of.float8.y_transposed);
    StatsFold fold;
    Codes<size> a_codes[4], b_codes[4];
    wait_for_copies<0>();
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      Chunk<T, size> a = own.pairs(i, 0), b = own.pairs(i, 1);
      const auto by = own.angles(i, args.cos + angle(i), args.sin + angle(i), there(i), direction);
      fold.add(rotate(a, b, by), true);
      fetch(number + head_step, i);
      a_codes[i] = cast(a);
      b_codes[i] = cast(b);
      if (y == nullptr) {
        place.template write_row<wide>(x, head.columns, i, a);
        place.template write_row<wide>(x + half, head.columns, i, b);
      } else {
        place.template write_row<wide>(y + head.begin, head.columns, i, a_codes[i]);
        place.template write_row<wide>(y + head.begin + half, head.columns, i, b_codes[i]);
      }
    }
    commit_copies();
    q_fold.add(fold, in_q);
    k_fold.add(fold, !in_q);
    if (y == nullptr || y_transposed == nullptr) continue;  // the whole block
    __syncthreads();                                        // the tiles before have been read
    a_tile.put(place.patch, place.group, a_codes);
    b_tile.put(place.patch, place.group, b_codes);
    __syncthreads();
    std::uint8_t* turned = y_transposed + head.begin * tokens;
    a_tile.write_transposed(turned, tokens, half, place.tile_row, place.tile_column, wide_transposed);
    b_tile.write_transposed(turned + half * tokens, tokens, half, place.tile_row, place.tile_column, wide_transposed);
  }
  if (args.q.x != nullptr) q_fold.publish(args.q.stats);
  if (args.k.x != nullptr) k_fold.publish(args.k.stats);
}

/// False where a block cannot have the shared memory.
template <typename T, bool wide, bool keeps>
bool launch(cudaStream_t stream, const Rope& args) {
  constexpr int size = Pack<T>::size, tile_bytes = 2 * static_cast<int>(sizeof(TransposeTile<size>));
  constexpr int shared = OwnPlaces<threads, wide>::bytes_of(Places<T, wide, keeps>::count);
  if (shared + tile_bytes > most_shared_memory()) return false;
  const auto heads = static_cast<unsigned>(args.heads());
  const std::int64_t tokens = args.batch * args.seq;
  const unsigned tiles = tiles_of<size>(tokens, args.head_dim / 2);
  const unsigned head_step = std::clamp(resident_blocks / tiles, 1u, heads);
  auto* kernel = rope_tiles_kernel<T, wide, keeps>;
  allow_shared_memory(kernel, shared);
  kernel<<<tiles * head_step, threads, shared, stream>>>(
      args, heads, q_heads_of(args), head_step,
      aligned_to_16(tokens, args.q.float8.y_transposed, args.k.float8.y_transposed));
  return true;
}

/// Blocks of GPUs of compute capability 8.6 and 8.9 have 99 KiB, too few for the angles of bf16.
template <typename T, bool wide>
void launch(cudaStream_t stream, const Rope& args) {
  if (launch<T, wide, true>(stream, args)) return;
  if constexpr (sizeof(T) == 2) {
    if (launch<T, wide, false>(stream, args)) return;
  }
  throw internal_error("kernels", "rope: a block of this GPU has {} bytes of shared memory", most_shared_memory());
}

}  // namespace

template <typename T>
void launch_tiles(cudaStream_t stream, const Rope& args, bool wide) {
  wide ? launch<T, true>(stream, args) : launch<T, false>(stream, args);
}
template void launch_tiles<float>(cudaStream_t, const Rope&, bool);
template void launch_tiles<__nv_bfloat16>(cudaStream_t, const Rope&, bool);

}  // namespace octet::cuda::rope_parts
