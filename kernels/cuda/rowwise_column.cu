#include <algorithm>

#include "kernels/cuda/cluster.cuh"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/rowwise.cuh"
#include "kernels/cuda/scale.cuh"
#include "kernels/cuda/shared_memory.cuh"
#include "kernels/cuda/transpose_tile.cuh"

namespace octet::cuda::rowwise {
namespace {

constexpr unsigned cluster_blocks = 8;

/// What of a stripe of columns lies in the shared memory of one of the cluster's blocks, beside its values. `width`:
/// neighbouring columns of a thread.
template <int width>
struct StripeMemory {
  using Tile = TransposeTile<width>;
  static constexpr int warps = Tile::threads / 32;

  Tile tiles[2];  ///< one is filled while the other is written
  unsigned of_warp[warps][Tile::columns];
  unsigned of_block[2][Tile::columns];  ///< of this stripe, and of the one before, which others may be reading still
  float scale[Tile::columns];
};

/// Sweeps of 128 rows that each block of the cluster makes.
constexpr std::int64_t sweeps_of(std::int64_t rows) {
  return ceil_div(rows, std::int64_t{cluster_blocks} * TransposeTile<4>::rows);
}
template <typename T, int width>
constexpr std::int64_t shared_bytes(std::int64_t rows) {
  return static_cast<std::int64_t>(sizeof(StripeMemory<width>)) +
         sweeps_of(rows) * 4 * TransposeTile<width>::threads * width * static_cast<std::int64_t>(sizeof(T));
}

/// A cluster has all rows of a stripe of columns in shared memory, each thread its own values, from the abs-max to the
/// cast; as it casts, the next stripe's values are brought to the places that become free. Reads
/// rows · columns · sizeof(T) bytes, writes rows · columns. columns is a multiple of width, x aligned to a row of a
/// patch.
template <typename T, int width>
__global__ void __launch_bounds__(TransposeTile<width>::threads)
    column_clusters(const T* __restrict__ x, std::int64_t rows, std::int64_t columns, RowwiseForm form, int sweeps,
                    double max_of_format, bool power_of_two, bool wide_transposed, bool to_e4m3) {
  using Tile = TransposeTile<width>;
  struct alignas(width * sizeof(T)) Slot {
    Chunk<T, width> values;
  };
  auto& memory = *dynamic_shared<StripeMemory<width>>();
  Slot* own = reinterpret_cast<Slot*>(&memory + 1) + threadIdx.x;
  const auto slot = [own](int sweep, int i) { return own + (sweep * 4 + i) * Tile::threads; };
  const int patch = static_cast<int>(threadIdx.x % 8), group = static_cast<int>(threadIdx.x / 8);
  const std::int64_t first_row = std::int64_t{cluster_rank()} * sweeps * Tile::rows;
  const std::int64_t stripes = (columns + Tile::columns - 1) / Tile::columns, step = gridDim.x / cluster_blocks;
  const auto row_of = [&](int sweep, int i) { return first_row + sweep * Tile::rows + 4 * group + i; };
  const auto fetch = [&](std::int64_t stripe, int sweep) {
    const std::int64_t column = stripe * Tile::columns + patch * width;
    if (column >= columns) return;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (row_of(sweep, i) < rows)
        copy_async<width * sizeof(T)>(slot(sweep, i), x + row_of(sweep, i) * columns + column);
    }
  };
  std::int64_t stripe = blockIdx.x / cluster_blocks;
  for (int sweep = 0; sweep < sweeps; ++sweep) fetch(stripe, sweep);
  commit_copies();
  for (int parity = 0; stripe < stripes; stripe += step, parity ^= 1) {
    const std::int64_t first_column = stripe * Tile::columns;
    const bool inside = first_column + patch * width < columns;
    const auto values = [&](int sweep, int i) {
      Chunk<T, width> chunk{};
      if (inside && row_of(sweep, i) < rows) chunk = slot(sweep, i)->values;
      return chunk;
    };
    wait_for_copies<0>();
    unsigned most[width] = {};  // the bits of |x| order like the values, NaN above all
    for (int sweep = 0; sweep < sweeps; ++sweep) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const Chunk<T, width> chunk = values(sweep, i);
#pragma unroll
        for (int j = 0; j < width; ++j) most[j] = max(most[j], __float_as_uint(to_float(chunk.v[j])) & 0x7FFFFFFFu);
      }
    }
#pragma unroll
    for (int j = 0; j < width; ++j) {  // lanes 8 and 16 apart have the same columns
      most[j] = max(most[j], __shfl_xor_sync(~0u, most[j], 8));
      most[j] = max(most[j], __shfl_xor_sync(~0u, most[j], 16));
      if (threadIdx.x % 32 < 8) memory.of_warp[threadIdx.x / 32][patch * width + j] = most[j];
    }
    __syncthreads();
    const int c = static_cast<int>(threadIdx.x);
    if (c < Tile::columns) {
      unsigned all = 0;
      for (int w = 0; w < memory.warps; ++w) all = max(all, memory.of_warp[w][c]);
      memory.of_block[parity][c] = all;
    }
    cluster_barrier();
    if (c < Tile::columns) {
      unsigned all = 0;
      for (unsigned b = 0; b < cluster_blocks; ++b) all = max(all, *in_block(&memory.of_block[parity][c], b));
      const float scale = scale_of(__uint_as_float(all), max_of_format, power_of_two);
      memory.scale[c] = scale;
      if (cluster_rank() == 0 && first_column + c < columns) {
        form.scale[first_column + c] = scale;
        form.inverse_scale[first_column + c] = 1.0f / scale;
      }
    }
    __syncthreads();
    Chunk<float, width> scale;
#pragma unroll
    for (int j = 0; j < width; ++j) scale.v[j] = memory.scale[patch * width + j];
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      const std::int64_t row = first_row + sweep * Tile::rows;
      if (row >= rows) break;  // the same for the block
      Tile& tile = memory.tiles[sweep % 2];
      Codes<width> codes[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) codes[i] = cast_each(values(sweep, i), scale, to_e4m3);
      tile.put(patch, group, codes);
      fetch(stripe + step, sweep);  // what was there has been used
      __syncthreads();
      tile.write_transposed(static_cast<std::uint8_t*>(form.y), rows, columns, row, first_column, wide_transposed);
    }
    commit_copies();
  }
  cluster_barrier();  // others may be reading this block's abs-maxes
}

}  // namespace

template <typename T>
bool by_column_alone(const QuantizeRowwise& args, cudaStream_t stream) {
  // Below that, most of a cluster would have nothing to do.
  constexpr std::int64_t least_rows = 1024;
  const auto launch = [&]<int width>() {
    const std::int64_t bytes = shared_bytes<T, width>(args.rows);
    if (args.columns % width != 0 || !aligned(width * sizeof(T), args.x) || bytes > std::int64_t{1} << 20) return false;
    const auto kernel = column_clusters<T, width>;
    const ClusterShape shape{cluster_blocks, TransposeTile<width>::threads, static_cast<int>(bytes)};
    const int clusters = resident_clusters(reinterpret_cast<const void*>(kernel), shape);
    if (clusters == 0) return false;
    const std::int64_t stripes = ceil_div(args.columns, TransposeTile<width>::columns);
    launch_clusters(kernel, shape, static_cast<unsigned>(std::min<std::int64_t>(clusters, stripes)), stream,
                    static_cast<const T*>(args.x), args.rows, args.columns, args.by_column,
                    static_cast<int>(sweeps_of(args.rows)), static_cast<double>(float8_max(args.to)), args.power_of_two,
                    aligned_to_16(args.rows, args.by_column.y), args.to == DType::e4m3);
    return true;
  };
  if (!args.column_transposed || args.rows < least_rows) return false;
  if constexpr (sizeof(T) == 2) {
    if (launch.template operator()<8>()) return true;  // 128 bytes of a row side by side
  }
  return launch.template operator()<4>();
}
template bool by_column_alone<float>(const QuantizeRowwise&, cudaStream_t);
template bool by_column_alone<__nv_bfloat16>(const QuantizeRowwise&, cudaStream_t);

}  // namespace octet::cuda::rowwise
