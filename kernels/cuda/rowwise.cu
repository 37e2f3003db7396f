#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/rowwise.cuh"
#include "kernels/cuda/scale.cuh"
#include "kernels/cuda/transpose_tile.cuh"

namespace octet::cuda {
namespace {

constexpr int threads = 256;
constexpr int warps = threads / 32;
constexpr int rows_a_warp = 8, rows_at_once = 4;
constexpr int rows_a_block = warps * rows_a_warp;

/// Abs-maxes as the integer bits of |x| (they order like the values, NaN above all), into zeroed arrays; null: not
/// asked for. A block takes 64 rows by 32 packs of columns, a warp 8 rows: reads rows · columns · sizeof(T) bytes.
template <typename T, bool wide>
__global__ void __launch_bounds__(threads)
    amax_kernel(const T* __restrict__ x, std::int64_t rows, std::int64_t columns, unsigned* __restrict__ of_row,
                unsigned* __restrict__ of_column) {
  constexpr int size = Pack<T>::size, width = 32 * size;
  __shared__ unsigned maxima[warps][width];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const auto across = static_cast<unsigned>((columns + width - 1) / width);
  const std::int64_t first_row = std::int64_t{blockIdx.x / across} * rows_a_block + warp * rows_a_warp;
  const std::int64_t first_column = std::int64_t{blockIdx.x % across} * width, column = first_column + lane * size;
  const std::int64_t left = columns - column;
  const int there = left <= 0 ? 0 : left < size ? static_cast<int>(left) : size;

  unsigned column_max[size] = {};
#pragma unroll 1
  for (int i = 0; i < rows_a_warp; i += rows_at_once) {
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
      unsigned row_max = 0;
#pragma unroll
      for (int j = 0; j < size; ++j) {
        const unsigned magnitude = __float_as_uint(to_float(in[u].v[j])) & 0x7FFFFFFFu;
        row_max = max(row_max, magnitude);
        column_max[j] = max(column_max[j], magnitude);
      }
      if (of_row == nullptr) continue;
      row_max = __reduce_max_sync(~0u, row_max);
      if (lane == 0 && row_max != 0) atomicMax(of_row + first_row + i + u, row_max);  // 0 beyond the rows
    }
  }
  if (of_column == nullptr) return;  // the same for all threads
#pragma unroll
  for (int j = 0; j < size; ++j) maxima[warp][j * 32 + lane] = column_max[j];
  __syncthreads();
  for (int c = static_cast<int>(threadIdx.x); c < width; c += threads) {
    const std::int64_t at = first_column + (c % 32) * size + c / 32;
    unsigned all = 0;
#pragma unroll
    for (int w = 0; w < warps; ++w) all = max(all, maxima[w][c]);
    if (at < columns && all != 0) atomicMax(of_column + at, all);
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

void prepare_amax(const RowwiseForm& form, std::int64_t n, cudaStream_t stream) {
  if (form.wanted())
    check(cudaMemsetAsync(form.scale, 0, static_cast<std::size_t>(n) * 4, stream), "zeroing abs-maxes");
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
  prepare_amax(args.by_row, args.rows, stream);
  prepare_amax(args.by_column, args.columns, stream);
  const bool wide_x = args.columns % size == 0 && aligned(16, x);
  const auto blocks =
      static_cast<unsigned>(ceil_div(args.rows, rows_a_block) * ceil_div(args.columns, std::int64_t{32} * size));
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
