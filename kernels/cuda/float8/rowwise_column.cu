#include <algorithm>

#include "kernels/cuda/device/cluster.cuh"
#include "kernels/cuda/device/magnitude.cuh"
#include "kernels/cuda/device/scale.cuh"
#include "kernels/cuda/device/shared_memory.cuh"
#include "kernels/cuda/device/transpose_tile.cuh"
#include "kernels/cuda/float8/rowwise.cuh"
#include "kernels/cuda/host/launch.h"

namespace octet::cuda::rowwise {
namespace {

/// 128 bytes of a row side by side: with 64, a kernel with as many bytes under way had 0.6 of the copy's rate on an
/// H100.
template <typename T>
using StripeTile = TransposeTile<Pack<T>::size>;
constexpr int threads = 256;
static_assert(threads == StripeTile<float>::threads && threads == StripeTile<__nv_bfloat16>::threads);

/// What of a stripe of columns lies in the shared memory of one of the cluster's blocks, before its values.
template <typename T>
struct StripeMemory {
  static constexpr int columns = StripeTile<T>::columns;

  unsigned of_warp[threads / 32][columns];
  unsigned of_block[2][columns];  ///< of this stripe, and of the one before, which others may be reading still
  float scale[columns];
};

/// A sweep's values, a pack for each of the four rows of a thread's patch; once they are codes, their tile.
template <typename T>
union Sweep {
  Pack<T> packs[4][threads];
  StripeTile<T> tile;
};

/// Sweeps of 128 rows that each block of a cluster makes.
constexpr std::int64_t sweeps_of(std::int64_t rows, unsigned cluster) {
  return ceil_div(rows, std::int64_t{cluster} * StripeTile<float>::rows);
}
template <typename T>
constexpr std::int64_t shared_bytes(std::int64_t rows, unsigned cluster) {
  return static_cast<std::int64_t>(sizeof(StripeMemory<T>) + sizeof(Sweep<T>) * sweeps_of(rows, cluster));
}

/// Until all but the thread's `newest` groups of copies are there; more than six are not told apart.
__device__ __forceinline__ void wait_for_all_but(int newest) {
  switch (newest) {
    case 0:
      return wait_for_copies<0>();
    case 1:
      return wait_for_copies<1>();
    case 2:
      return wait_for_copies<2>();
    case 3:
      return wait_for_copies<3>();
    case 4:
      return wait_for_copies<4>();
    case 5:
      return wait_for_copies<5>();
    default:
      return wait_for_copies<6>();
  }
}

/// A cluster has all rows of a stripe of columns in shared memory, each thread its own values, from the abs-max, which
/// is taken as they come, to the cast; as it casts, the next stripe's values are brought to the places that become
/// free. Reads rows · columns · sizeof(T) bytes, writes rows · columns. columns is a multiple of a pack, x aligned to
/// one.
template <typename T>
__global__ void __launch_bounds__(threads)
    column_clusters(const T* __restrict__ x, std::int64_t rows, std::int64_t columns, RowwiseForm form,
                    unsigned cluster_blocks, int sweeps, float max_of_format, bool power_of_two, bool wide_transposed,
                    bool to_e4m3) {
  using Tile = StripeTile<T>;
  constexpr int size = Pack<T>::size, words = 4, in_word = size / words;
  auto& memory = *dynamic_shared<StripeMemory<T>>();
  auto* own = reinterpret_cast<Sweep<T>*>(&memory + 1);
  const int thread = static_cast<int>(threadIdx.x), patch = thread % 8, group = thread / 8;
  const std::int64_t first_row = std::int64_t{cluster_rank()} * sweeps * Tile::rows;
  const std::int64_t stripes = (columns + Tile::columns - 1) / Tile::columns, step = gridDim.x / cluster_blocks;
  const T* of_thread = x + (first_row + 4 * group) * columns + patch * size;
  const int rows_left = static_cast<int>(rows - first_row) - 4 * group;
  const auto there = [&](int sweep, int i) { return sweep * Tile::rows + i < rows_left; };
  const auto fetch = [&](std::int64_t stripe, int sweep) {
    const std::int64_t column = stripe * Tile::columns;
    if (column + patch * size < columns) {
      const T* from = of_thread + sweep * Tile::rows * columns + column;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (there(sweep, i)) copy_async(&own[sweep].packs[i][thread], from + i * columns);
      }
    }
    commit_copies();
  };
  std::int64_t stripe = blockIdx.x / cluster_blocks;
  for (int sweep = 0; sweep < sweeps; ++sweep) fetch(stripe, sweep);
  for (int parity = 0; stripe < stripes; stripe += step, parity ^= 1) {
    const std::int64_t first_column = stripe * Tile::columns;
    const bool inside = first_column + patch * size < columns;
    const auto values = [&](int sweep, int i) {
      Chunk<T, size> chunk{};
      if (inside && there(sweep, i)) chunk = read<true, size>(own[sweep].packs[i][thread].v, size);
      return chunk;
    };
    Chunk<unsigned, words> most{};
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      wait_for_all_but(sweeps - 1 - sweep);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const auto of_row = words_of(values(sweep, i));
#pragma unroll
        for (int w = 0; w < words; ++w) most.v[w] = larger<T>(most.v[w], of_row.v[w]);
      }
    }
#pragma unroll
    for (int w = 0; w < words; ++w) {  // lanes 8 and 16 apart have the same columns
      most.v[w] = larger<T>(most.v[w], __shfl_xor_sync(~0u, most.v[w], 8));
      most.v[w] = larger<T>(most.v[w], __shfl_xor_sync(~0u, most.v[w], 16));
      if (thread % 32 >= 8) continue;
#pragma unroll
      for (int j = 0; j < in_word; ++j)
        memory.of_warp[thread / 32][patch * size + w * in_word + j] = magnitude<T>(most.v[w], j);
    }
    __syncthreads();
    if (thread < Tile::columns) {
      unsigned all = 0;
#pragma unroll
      for (int w = 0; w < threads / 32; ++w) all = max(all, memory.of_warp[w][thread]);
      memory.of_block[parity][thread] = all;
    }
    cluster_barrier();
    if (thread < Tile::columns) {
      unsigned all = 0;
#pragma unroll 8
      for (unsigned b = 0; b < cluster_blocks; ++b) all = max(all, *in_block(&memory.of_block[parity][thread], b));
      const float scale = scale_of(__uint_as_float(all), max_of_format, power_of_two);
      memory.scale[thread] = scale;
      if (cluster_rank() == 0 && first_column + thread < columns) {
        form.scale[first_column + thread] = scale;
        form.inverse_scale[first_column + thread] = 1.0f / scale;
      }
    }
    __syncthreads();
    Chunk<float, size> scale;
#pragma unroll
    for (int j = 0; j < size; ++j) scale.v[j] = memory.scale[patch * size + j];
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      Codes<size> codes[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) codes[i] = cast_each(values(sweep, i), scale, to_e4m3);
      __syncthreads();  // the sweep's values have been read, and the tile before has been written
      if (sweep > 0) fetch(stripe + step, sweep - 1);
      Tile& tile = own[sweep].tile;
      tile.put(patch, group, codes);
      __syncthreads();
      tile.write_transposed(static_cast<std::uint8_t*>(form.y), rows, columns, first_row + sweep * Tile::rows,
                            first_column, wide_transposed);
    }
    __syncthreads();
    fetch(stripe + step, sweeps - 1);
  }
  cluster_barrier();  // others may be reading this block's abs-maxes
}

}  // namespace

template <typename T>
bool by_column_alone(const QuantizeRowwise& args, cudaStream_t stream) {
  // From `least_rows` on a cluster of eight has enough to do, from `many_rows` on one of sixteen. Two blocks or more
  // share a multiprocessor up to `half_shared` bytes each (228 KiB on Hopper, of which each block costs one more):
  // while one waits, the other reads. For that clusters are of sixteen, up to 12288 rows; beyond, of eight, which leave
  // fewer multiprocessors without a cluster; and beyond 14336 rows of sixteen again.
  constexpr std::int64_t least_rows = 1024, many_rows = 4096, half_shared = 113 << 10;
  if (!args.column_transposed || args.rows < least_rows) return false;
  if (args.columns % Pack<T>::size != 0 || !aligned(16, args.x)) return false;
  const auto launch = [&](unsigned blocks) {
    const std::int64_t bytes = shared_bytes<T>(args.rows, blocks);
    if (bytes > std::int64_t{1} << 20) return false;
    const auto kernel = column_clusters<T>;
    const ClusterShape shape{blocks, threads, static_cast<int>(bytes)};
    const int clusters = resident_clusters(reinterpret_cast<const void*>(kernel), shape);
    if (clusters == 0) return false;
    const std::int64_t stripes = ceil_div(args.columns, StripeTile<T>::columns);
    launch_clusters(kernel, shape, static_cast<unsigned>(std::min<std::int64_t>(clusters, stripes)), stream,
                    static_cast<const T*>(args.x), args.rows, args.columns, args.by_column, blocks,
                    static_cast<int>(sweeps_of(args.rows, blocks)), float8_max(args.to), args.power_of_two,
                    aligned_to_16(args.rows, args.by_column.y), args.to == DType::e4m3);
    return true;
  };
  const bool two_share = args.rows >= many_rows && shared_bytes<T>(args.rows, 16) <= half_shared;
  return (two_share && launch(16)) || launch(8) || launch(16);
}
template bool by_column_alone<float>(const QuantizeRowwise&, cudaStream_t);
template bool by_column_alone<__nv_bfloat16>(const QuantizeRowwise&, cudaStream_t);

}  // namespace octet::cuda::rowwise
