#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/device/magnitude.cuh"
#include "kernels/cuda/device/packs.cuh"
#include "kernels/cuda/device/scale.cuh"
#include "kernels/cuda/device/transpose_tile.cuh"
#include "kernels/cuda/float8/rowwise.cuh"
#include "kernels/cuda/host/launch.h"

namespace octet::cuda {
namespace {

constexpr int threads = 256;
constexpr int warps = threads / 32;
constexpr int rows_a_block = 16, rows_at_once = 4;

/// Abs-maxes as the integer bits of |x|, into zeroed arrays; null: not asked for. A block takes 16 rows, its warps 32
/// packs each beside one another: reads rows · columns · sizeof(T) bytes. A warp's atomics are those of neighbouring
/// columns, of which memory does eight at once: on an H100 0.94 of the copy's rate, where columns eight apart had 0.68.
template <typename T, bool wide>
__global__ void __launch_bounds__(threads)
    amax_kernel(const T* __restrict__ x, std::int64_t rows, std::int64_t columns, unsigned* __restrict__ of_row,
                unsigned* __restrict__ of_column) {
  constexpr int size = Pack<T>::size, width = 32 * size, in_word = 4 / static_cast<int>(sizeof(T));
  __shared__ unsigned row_maxima[rows_a_block][warps];
  alignas(16) __shared__ unsigned column_maxima[warps][width];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const auto across = static_cast<unsigned>((columns + warps * width - 1) / (warps * width));
  const std::int64_t first_row = std::int64_t{blockIdx.x / across} * rows_a_block;
  const std::int64_t first_column = (std::int64_t{blockIdx.x % across} * warps + warp) * width;
  const std::int64_t column = first_column + lane * size, left = columns - column;
  const int there = left <= 0 ? 0 : left < size ? static_cast<int>(left) : size;

  Chunk<unsigned, size / in_word> most{};
#pragma unroll 1
  for (int i = 0; i < rows_a_block; i += rows_at_once) {
    Chunk<T, size> in[rows_at_once];
#pragma unroll
    for (int u = 0; u < rows_at_once; ++u) {
      const std::int64_t row = first_row + i + u;
      const int count = row < rows ? there : 0;
      const T* from = x + row * columns + column;
      if (wide && count > 0) {
        in[u] = read<true, size>(from, size);
      } else {
        in[u] = read<false, size>(from, wide ? 0 : count);
      }
    }
#pragma unroll
    for (int u = 0; u < rows_at_once; ++u) {
      const auto words = words_of(in[u]);
      unsigned row_max = 0;
#pragma unroll
      for (int j = 0; j < size / in_word; ++j) {
        most.v[j] = larger<T>(most.v[j], words.v[j]);
        row_max = larger<T>(row_max, words.v[j]);
      }
      if (of_row == nullptr) continue;
      row_max = __reduce_max_sync(~0u, largest<T>(row_max));
      if (lane == 0) row_maxima[i + u][warp] = row_max;
    }
  }
  if (of_column != nullptr) {  // the same for all threads
#pragma unroll
    for (int j = 0; j < size; ++j)
      column_maxima[warp][lane * size + j] = magnitude<T>(most.v[j / in_word], j % in_word);
    __syncwarp();
#pragma unroll
    for (int c = lane; c < width; c += 32) {
      const unsigned all = column_maxima[warp][c];
      if (first_column + c < columns && all != 0) atomicMax(of_column + first_column + c, all);
    }
  }
  if (of_row == nullptr) return;
  __syncthreads();
  const int r = static_cast<int>(threadIdx.x);
  if (r >= rows_a_block) return;
  unsigned all = 0;
#pragma unroll
  for (int w = 0; w < warps; ++w) all = max(all, row_maxima[r][w]);
  if (all != 0) atomicMax(of_row + first_row + r, all);  // 0 beyond the rows
}

/// Of the rows, then of the columns, in one launch: two of cudaMemsetAsync took 1 us more.
__global__ void __launch_bounds__(threads)
    zero_kernel(float* __restrict__ of_row, std::int64_t rows, float* __restrict__ of_column, std::int64_t columns) {
  const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i < rows) {
    of_row[i] = 0.0f;
  } else if (i < rows + columns) {
    of_column[i - rows] = 0.0f;
  }
}

/// Abs-maxes in place to scales, and their inverses: of the rows, then of the columns.
__global__ void __launch_bounds__(threads)
    scales_kernel(RowwiseForm by_row, std::int64_t rows, RowwiseForm by_column, std::int64_t columns,
                  double max_of_format, bool power_of_two) {
  const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= rows + columns) return;
  const std::int64_t at = i < rows ? i : i - rows;
  float* scale = (i < rows ? by_row.scale : by_column.scale) + at;
  float* inverse = (i < rows ? by_row.inverse_scale : by_column.inverse_scale) + at;
  const float s = scale_of(*scale, max_of_format, power_of_two);
  *scale = s;
  *inverse = 1.0f / s;
}

/// Reads rows · columns · sizeof(T) bytes, writes rows · columns for each of the forms; null: not asked for. From the
/// last tile to the first: what amax_kernel read last is in the L2 cache still.
template <typename T, bool wide>
__global__ void __launch_bounds__(threads)
    cast_forms_kernel(const T* __restrict__ x, std::int64_t rows, std::int64_t columns,
                      std::uint8_t* __restrict__ by_row, const float* __restrict__ row_scale,
                      std::uint8_t* __restrict__ by_column, const float* __restrict__ column_scale, bool transposed,
                      bool wide_transposed, bool to_e4m3) {
  constexpr int size = Pack<T>::size;
  __shared__ TransposeTile<size> tile;
  const TilePlace<size> place(rows, columns, gridDim.x - 1 - blockIdx.x);
  Chunk<T, size> in[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) in[i] = place.template read_row<wide>(x, columns, i);
  if (by_row != nullptr) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const Float8Cast cast{i < place.rows ? row_scale[place.row + i] : 0.0f, to_e4m3};
      place.template write_row<wide>(by_row, columns, i, cast(in[i]));
    }
  }
  if (by_column == nullptr) return;  // the same for all threads
  const Chunk<float, size> scale = read<false, size>(column_scale + place.column, place.columns);
  Codes<size> codes[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    codes[i] = rowwise::cast_each(in[i], scale, to_e4m3);
    if (!transposed) place.template write_row<wide>(by_column, columns, i, codes[i]);
  }
  if (!transposed) return;
  tile.put(place.patch, place.group, codes);
  __syncthreads();
  tile.write_transposed(by_column, rows, columns, place.tile_row, place.tile_column, wide_transposed);
}

void prepare_amaxes(const QuantizeRowwise& args, cudaStream_t stream) {
  const std::int64_t rows = args.by_row.wanted() ? args.rows : 0, columns = args.by_column.wanted() ? args.columns : 0;
  zero_kernel<<<static_cast<unsigned>(ceil_div(rows + columns, threads)), threads, 0, stream>>>(
      args.by_row.scale, rows, args.by_column.scale, columns);
}

void finish_scales(const QuantizeRowwise& args, cudaStream_t stream) {
  const std::int64_t rows = args.by_row.wanted() ? args.rows : 0, columns = args.by_column.wanted() ? args.columns : 0;
  scales_kernel<<<static_cast<unsigned>(ceil_div(rows + columns, threads)), threads, 0, stream>>>(
      args.by_row, rows, args.by_column, columns, static_cast<double>(float8_max(args.to)), args.power_of_two);
}

/// Any forms: one pass for the abs-maxes, one for the casts.
template <typename T>
void quantize_in_two(const QuantizeRowwise& args, cudaStream_t stream) {
  constexpr int size = Pack<T>::size;
  const auto* x = static_cast<const T*>(args.x);
  auto* by_row = static_cast<std::uint8_t*>(args.by_row.y);
  auto* by_column = static_cast<std::uint8_t*>(args.by_column.y);
  const auto amaxes = [](const RowwiseForm& form) {
    return form.wanted() ? reinterpret_cast<unsigned*>(form.scale) : nullptr;
  };
  prepare_amaxes(args, stream);
  const bool wide_x = args.columns % size == 0 && aligned(16, x);
  const auto blocks = static_cast<unsigned>(ceil_div(args.rows, rows_a_block) *
                                            ceil_div(args.columns, std::int64_t{32} * warps * size));
  const auto amax = wide_x ? amax_kernel<T, true> : amax_kernel<T, false>;
  amax<<<blocks, threads, 0, stream>>>(x, args.rows, args.columns, amaxes(args.by_row), amaxes(args.by_column));
  finish_scales(args, stream);
  const bool wide = wide_x && aligned(size, by_row) && (args.column_transposed || aligned(size, by_column));
  const auto cast = wide ? cast_forms_kernel<T, true> : cast_forms_kernel<T, false>;
  cast<<<tiles_of<size>(args.rows, args.columns), threads, 0, stream>>>(
      x, args.rows, args.columns, by_row, args.by_row.scale, by_column, args.by_column.scale, args.column_transposed,
      aligned_to_16(args.rows, by_column), args.to == DType::e4m3);
}

template <typename T>
void quantize(const QuantizeRowwise& args, cudaStream_t stream) {
  if (!args.by_column.wanted() && rowwise::by_row_alone<T>(args, stream)) return;
  if (!args.by_row.wanted() && rowwise::by_column_alone<T>(args, stream)) return;
  quantize_in_two<T>(args, stream);
}

}  // namespace

void quantize_rowwise(Stream& stream, const QuantizeRowwise& args) {
  if (args.rows == 0 || args.columns == 0) return;
  if (!args.by_row.wanted() && !args.by_column.wanted()) return;
  dispatch_storage(args.from, [&]<typename T>(T) { quantize<T>(args, native(stream)); });
  check_launch("quantize_rowwise");
}

}  // namespace octet::cuda
