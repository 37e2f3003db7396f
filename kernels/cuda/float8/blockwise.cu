#include "kernels/blockwise.h"

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/device/float8.cuh"
#include "kernels/cuda/device/magnitude.cuh"
#include "kernels/cuda/device/packs.cuh"
#include "kernels/cuda/device/scale.cuh"
#include "kernels/cuda/device/transpose_tile.cuh"
#include "kernels/cuda/host/launch.h"

namespace octet::cuda {
namespace {

constexpr int threads = 256;
constexpr int warps = threads / 32;
constexpr int side = static_cast<int>(scale_block);

/// A block's 128 x 128 values in registers, read from memory once. They are `parts` tiles of 128 rows side by side, of
/// each of which a thread has a patch of 4 rows (see TransposeTile), so that 8 neighbouring lanes have 4 whole rows.
template <typename T>
struct Values {
  static constexpr int size = Pack<T>::size;
  static constexpr int width = TransposeTile<size>::columns;
  static constexpr int parts = side / width;

  Chunk<T, size> in[parts][4];
  std::int64_t row, column;  ///< first of the block
  int patch, group;          ///< of the thread

  __device__ __forceinline__ Values(const T* x, std::int64_t columns) {
    const auto across = static_cast<unsigned>(columns / side);
    row = std::int64_t{blockIdx.x / across} * side;
    column = std::int64_t{blockIdx.x % across} * side;
    patch = static_cast<int>(threadIdx.x % 8);
    group = static_cast<int>(threadIdx.x / 8);
#pragma unroll
    for (int p = 0; p < parts; ++p) {
#pragma unroll
      for (int i = 0; i < 4; ++i) in[p][i] = read<true, size>(x + at(columns, p, i), size);
    }
  }
  /// Row i of the thread's patch of part p in a matrix of that many columns.
  __device__ __forceinline__ std::int64_t at(std::int64_t columns, int p, int i) const {
    return (row + 4 * group + i) * columns + column + p * width + patch * size;
  }
  /// Abs-max of what the thread has of row i.
  __device__ __forceinline__ unsigned row_max(int i) const {
    unsigned most = 0;
#pragma unroll
    for (int p = 0; p < parts; ++p) {
#pragma unroll
      for (int j = 0; j < size; ++j) most = max(most, magnitude(to_float(in[p][i].v[j])));
    }
    return most;
  }
};

/// Each row by its own scale.
template <typename T>
__device__ __forceinline__ void cast_rows(const Values<T>& x, std::int64_t rows, std::int64_t columns, std::uint8_t* y,
                                          float* inverse_scale, float max_of_format, bool power_of_two, bool to_e4m3) {
  unsigned most[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    most[i] = x.row_max(i);
#pragma unroll
    for (int distance = 1; distance < 8; distance *= 2) most[i] = max(most[i], __shfl_xor_sync(~0u, most[i], distance));
  }
  // Lane `patch` of a row's 8 makes the scale of row patch % 4, and the others get it from there.
  const int mine = x.patch % 4;
  const unsigned amax = mine == 0 ? most[0] : mine == 1 ? most[1] : mine == 2 ? most[2] : most[3];
  const float scale = scale_of(__uint_as_float(amax), max_of_format, power_of_two);
  if (x.patch < 4) inverse_scale[x.column / side * rows + x.row + 4 * x.group + mine] = 1.0f / scale;
  const int first_lane = static_cast<int>(threadIdx.x % 32) & ~7;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const Float8Cast cast{__shfl_sync(~0u, scale, first_lane + i), to_e4m3};
#pragma unroll
    for (int p = 0; p < Values<T>::parts; ++p) {
      write_codes<true, Values<T>::size>(y + x.at(columns, p, i), cast(x.in[p][i]), Values<T>::size);
    }
  }
}

/// Abs-maxes of the columns, from all warps: maxima[warp][column] on return, after a barrier.
template <typename T>
__device__ __forceinline__ void column_maxima(const Values<T>& x, unsigned (&maxima)[warps][side]) {
  constexpr int size = Values<T>::size;
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int p = 0; p < Values<T>::parts; ++p) {
#pragma unroll
    for (int j = 0; j < size; ++j) {
      unsigned most = 0;
#pragma unroll
      for (int i = 0; i < 4; ++i) most = max(most, magnitude(to_float(x.in[p][i].v[j])));
      most = max(most, __shfl_xor_sync(~0u, most, 8));
      most = max(most, __shfl_xor_sync(~0u, most, 16));
      if (lane < 8) maxima[warp][p * Values<T>::width + x.patch * size + j] = most;
    }
  }
  __syncthreads();
}

/// Codes of neighbouring elements, each with a scale of its own.
template <typename T, int size>
__device__ __forceinline__ Codes<size> cast_each(const Chunk<T, size>& x, const float* s, bool to_e4m3) {
  Codes<size> codes;
#pragma unroll
  for (int j = 0; j < size; j += 4) {
    codes.v[j / 4] = float8_codes(to_float(x.v[j]) * s[j], to_float(x.v[j + 1]) * s[j + 1],
                                  to_float(x.v[j + 2]) * s[j + 2], to_float(x.v[j + 3]) * s[j + 3], to_e4m3);
  }
  return codes;
}

/// Reads rows · columns · sizeof(T) bytes once, writes rows · columns and the scales for each of the forms; null: not
/// asked for.
template <typename T>
__global__ void __launch_bounds__(threads)
    vectors_kernel(const T* __restrict__ x, std::int64_t rows, std::int64_t columns, std::uint8_t* __restrict__ by_row,
                   float* __restrict__ row_inverse, std::uint8_t* __restrict__ by_column,
                   float* __restrict__ column_inverse, bool transposed, float max_of_format, bool power_of_two,
                   bool to_e4m3) {
  constexpr int size = Values<T>::size, parts = Values<T>::parts, width = Values<T>::width;
  __shared__ TransposeTile<size> tiles[parts];
  __shared__ unsigned maxima[warps][side];
  __shared__ float scales[side];
  const Values<T> values(x, columns);
  if (by_row != nullptr) {
    cast_rows(values, rows, columns, by_row, row_inverse, max_of_format, power_of_two, to_e4m3);
  }
  if (by_column == nullptr) return;  // the same for all threads

  column_maxima(values, maxima);
  if (threadIdx.x < side) {
    unsigned most = 0;
#pragma unroll
    for (int w = 0; w < warps; ++w) most = max(most, maxima[w][threadIdx.x]);
    const float scale = scale_of(__uint_as_float(most), max_of_format, power_of_two);
    scales[threadIdx.x] = scale;
    column_inverse[values.row / side * columns + values.column + threadIdx.x] = 1.0f / scale;
  }
  __syncthreads();
#pragma unroll
  for (int p = 0; p < parts; ++p) {
    Codes<size> codes[4];
    const float* scale = scales + p * width + values.patch * size;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      codes[i] = cast_each(values.in[p][i], scale, to_e4m3);
      if (!transposed) write_codes<true, size>(by_column + values.at(columns, p, i), codes[i], size);
    }
    if (transposed) tiles[p].put(values.patch, values.group, codes);
  }
  if (!transposed) return;
  __syncthreads();
#pragma unroll
  for (int p = 0; p < parts; ++p) {
    tiles[p].write_transposed(by_column, rows, columns, values.row, values.column + p * width, true);
  }
}

/// The scale of block (i of the kept, j of the contracted dimension), and zeros behind the last of a line.
__device__ __forceinline__ void publish(float* to, std::int64_t i, std::int64_t j, std::int64_t line,
                                        std::int64_t stride, float inverse) {
  if (to == nullptr) return;
  to += i * stride;
  to[j] = inverse;
  if (j + 1 < line) return;
  for (std::int64_t l = line; l < stride; ++l) to[l] = 0.0f;
}

/// Reads rows · columns · sizeof(T) bytes once, writes rows · columns for each of y and its transposed copy.
template <typename T>
__global__ void __launch_bounds__(threads, 1)
    blocks_kernel(const T* __restrict__ x, std::int64_t rows, std::int64_t columns, std::uint8_t* __restrict__ y,
                  std::uint8_t* __restrict__ y_transposed, float* __restrict__ inverse_by_row,
                  float* __restrict__ inverse_by_column, std::int64_t row_stride, std::int64_t column_stride,
                  float max_of_format, bool power_of_two, bool to_e4m3) {
  constexpr int size = Values<T>::size, parts = Values<T>::parts;
  __shared__ TransposeTile<size> tiles[parts];
  __shared__ unsigned maxima[warps];
  const Values<T> values(x, columns);
  unsigned most = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) most = max(most, values.row_max(i));
  most = __reduce_max_sync(~0u, most);
  if (threadIdx.x % 32 == 0) maxima[threadIdx.x / 32] = most;
  __syncthreads();
#pragma unroll
  for (int w = 0; w < warps; ++w) most = max(most, maxima[w]);
  const float scale = scale_of(__uint_as_float(most), max_of_format, power_of_two);
  if (threadIdx.x == 0) {
    const float inverse = 1.0f / scale;
    publish(inverse_by_row, values.row / side, values.column / side, columns / side, row_stride, inverse);
    publish(inverse_by_column, values.column / side, values.row / side, rows / side, column_stride, inverse);
  }
  const Float8Cast cast{scale, to_e4m3};
#pragma unroll
  for (int p = 0; p < parts; ++p) {
    Codes<size> codes[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      codes[i] = cast(values.in[p][i]);
      if (y != nullptr) write_codes<true, size>(y + values.at(columns, p, i), codes[i], size);
    }
    if (y_transposed != nullptr) tiles[p].put(values.patch, values.group, codes);
  }
  if (y_transposed == nullptr) return;  // the same for all threads
  __syncthreads();
#pragma unroll
  for (int p = 0; p < parts; ++p) {
    tiles[p].write_transposed(y_transposed, rows, columns, values.row, values.column + p * Values<T>::width, true);
  }
}

template <typename Args>
unsigned blocks_of(const Args& args) {
  return static_cast<unsigned>((args.rows / side) * (args.columns / side));
}

}  // namespace

void quantize_vectors(Stream& stream, const QuantizeVectors& args) {
  check_operands(args);
  if (args.rows == 0 || args.columns == 0 || (!args.by_row.wanted() && !args.by_column.wanted())) return;
  dispatch_storage(args.from, [&]<typename T>(T) {
    vectors_kernel<T><<<blocks_of(args), threads, 0, native(stream)>>>(
        static_cast<const T*>(args.x), args.rows, args.columns, static_cast<std::uint8_t*>(args.by_row.y),
        args.by_row.inverse_scale, static_cast<std::uint8_t*>(args.by_column.y), args.by_column.inverse_scale,
        args.column_transposed, float8_max(args.to), args.power_of_two, args.to == DType::e4m3);
  });
  check_launch("quantize_vectors");
}

void quantize_blocks(Stream& stream, const QuantizeBlocks& args) {
  check_operands(args);
  if (args.rows == 0 || args.columns == 0) return;
  dispatch_storage(args.from, [&]<typename T>(T) {
    blocks_kernel<T><<<blocks_of(args), threads, 0, native(stream)>>>(
        static_cast<const T*>(args.x), args.rows, args.columns, static_cast<std::uint8_t*>(args.y),
        static_cast<std::uint8_t*>(args.y_transposed), args.inverse_scale_by_row, args.inverse_scale_by_column,
        block_scale_stride(args.columns), block_scale_stride(args.rows), float8_max(args.to), args.power_of_two,
        args.to == DType::e4m3);
  });
  check_launch("quantize_blocks");
}

}  // namespace octet::cuda
