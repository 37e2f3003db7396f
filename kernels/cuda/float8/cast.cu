#include "kernels/cast.h"

#include "kernels/cuda/cuda_kernels.h"
#include "kernels/cuda/device/float8.cuh"
#include "kernels/cuda/device/packs.cuh"
#include "kernels/cuda/device/scale.cuh"
#include "kernels/cuda/device/stats_fold.cuh"
#include "kernels/cuda/device/transpose_tile.cuh"
#include "kernels/cuda/host/launch.h"

namespace octet::cuda {
namespace {

constexpr int threads = 256;

/// Reads and writes a few bytes: one launch for all tensors of a model.
__global__ void compute_scales_kernel(const float* __restrict__ amax, float* __restrict__ scale,
                                      float* __restrict__ inverse_scale, std::int64_t n, float max_of_format,
                                      bool power_of_two) {
  const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= n) return;
  const float rounded = scale_of(amax[i], max_of_format, power_of_two);
  scale[i] = rounded;
  inverse_scale[i * inverse_scale_stride] = 1.0f / rounded;
}

/// Where a cast takes its scale from. From an abs-max every thread forms it for itself: one division, beside loads that
/// are under way.
struct ScaleSource {
  const float* scale;
  const float* amax;  ///< null: `scale` is there
  float max_of_format;
  bool power_of_two;
  float *scale_out, *inverse_scale_out;

  explicit ScaleSource(const CastToFloat8& args)
      : scale(args.scale),
        amax(args.amax),
        max_of_format(float8_max(args.to)),
        power_of_two(args.power_of_two),
        scale_out(args.scale_out),
        inverse_scale_out(args.inverse_scale_out) {}

  __device__ __forceinline__ float get() const {
    if (amax == nullptr) return *scale;
    const float formed = scale_of(*amax, max_of_format, power_of_two);
    if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) {
      *scale_out = formed;
      *inverse_scale_out = 1.0f / formed;
    }
    return formed;
  }
};

template <bool measures, typename T, int size>
__device__ __forceinline__ void measure(StatsFold& fold, const Chunk<T, size>& x) {
  if constexpr (measures) {
#pragma unroll
    for (int j = 0; j < size; ++j) fold.add(to_float(x.v[j]));
  }
}

/// Reads n · sizeof(T) bytes, writes n: a thread 16 bytes and 16 / sizeof(T). `measures`: for `stats`, here and below.
template <typename T, bool measures>
__global__ void __launch_bounds__(threads)
    cast_kernel(const T* __restrict__ x, std::uint8_t* __restrict__ y, std::int64_t n, std::int64_t packs,
                ScaleSource scale, bool to_e4m3, StatsOut stats) {
  constexpr int size = Pack<T>::size;
  const Float8Cast cast{scale.get(), to_e4m3};
  StatsFold fold;
  for_packs<size>(n, packs, [&](auto full, std::int64_t at, int count) {
    const Chunk<T, size> in = read<full, size>(x + at, count);
    measure<measures>(fold, in);
    write_codes<full, size>(y + at, cast(in), count);
  });
  if constexpr (measures) fold.publish(stats);
}

/// What a norm multiplies its input by (CastToFloat8::row_factor).
template <typename T>
struct NormFactors {
  const float* rows;
  const T* columns;

  explicit NormFactors(const CastToFloat8& args)
      : rows(args.row_factor), columns(static_cast<const T*>(args.column_factor)) {}

  /// The norm's output in a patch of its input.
  template <bool wide, int size>
  __device__ __forceinline__ void apply(const TilePlace<size>& place, Chunk<T, size> (&x)[4]) const {
    const T* of = columns + place.column;
    const Chunk<T, size> weight =
        wide && place.columns > 0 ? read<true, size>(of, size) : read<false, size>(of, wide ? 0 : place.columns);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float row = i < place.rows ? rows[place.row + i] : 0.0f;
#pragma unroll
      for (int j = 0; j < size; ++j) x[i].v[j] = from_float<T>(to_float(x[i].v[j]) * row * to_float(weight.v[j]));
    }
  }
};

/// Reads n · sizeof(T) bytes, writes n for each of y and y_transposed (null: none). `normed`: casts what a norm makes
/// of x. That goes by tiles also without the transposed form: a patch knows its row and column.
template <typename T, bool wide, bool measures, bool normed>
__global__ void __launch_bounds__(threads)
    cast_transposed_kernel(const T* __restrict__ x, NormFactors<T> factors, std::uint8_t* __restrict__ y,
                           std::uint8_t* __restrict__ y_transposed, std::int64_t rows, std::int64_t columns,
                           bool wide_transposed, ScaleSource scale, bool to_e4m3, StatsOut stats) {
  constexpr int size = Pack<T>::size;
  __shared__ TransposeTile<size> tile;
  const TilePlace<size> place(rows, columns);
  const Float8Cast cast{scale.get(), to_e4m3};
  Chunk<T, size> in[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) in[i] = place.template read_row<wide>(x, columns, i);
  if constexpr (normed) factors.template apply<wide>(place, in);
  Codes<size> codes[4];
  StatsFold fold;  // elements beyond the matrix are zero, and leave no mark
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    measure<measures>(fold, in[i]);
    codes[i] = cast(in[i]);
    if (y != nullptr) place.template write_row<wide>(y, columns, i, codes[i]);
  }
  if (normed && y_transposed == nullptr) return;
  tile.put(place.patch, place.group, codes);
  __syncthreads();
  tile.write_transposed(y_transposed, rows, columns, place.tile_row, place.tile_column, wide_transposed);
  if constexpr (measures) fold.publish(stats);
}

/// Reads and writes rows · columns bytes.
template <bool wide>
__global__ void __launch_bounds__(threads)
    transpose_kernel(const std::uint8_t* __restrict__ x, std::uint8_t* __restrict__ y, std::int64_t rows,
                     std::int64_t columns, bool wide_transposed) {
  constexpr int size = Pack<std::uint8_t>::size;
  __shared__ TransposeTile<size> tile;
  const TilePlace<size> place(rows, columns);
  Codes<size> codes[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) codes[i] = place.template read_codes<wide>(x, columns, i);
  tile.put(place.patch, place.group, codes);
  __syncthreads();
  tile.write_transposed(y, rows, columns, place.tile_row, place.tile_column, wide_transposed);
}

/// f32 to bf16 and back, four elements a thread: n · (4 + 2) bytes.
template <typename From, typename To>
__global__ void __launch_bounds__(threads)
    convert_kernel(const From* __restrict__ x, To* __restrict__ y, std::int64_t n, std::int64_t packs) {
  for_packs<4>(n, packs, [&](auto full, std::int64_t at, int count) {
    const Chunk<From, 4> in = read<full, 4>(x + at, count);
    Chunk<To, 4> out;
#pragma unroll
    for (int j = 0; j < 4; ++j) out.v[j] = from_float<To>(to_float(in.v[j]));
    write<full>(y + at, out, count);
  });
}

template <typename T, bool measures, bool normed>
void cast_transposed(Stream& stream, const CastToFloat8& args) {
  constexpr int size = Pack<T>::size;
  const auto* x = static_cast<const T*>(args.x);
  auto* y = static_cast<std::uint8_t*>(args.y);
  auto* transposed = static_cast<std::uint8_t*>(args.y_transposed);
  const std::int64_t columns = args.columns, rows = args.n / columns;
  const NormFactors<T> factors(args);
  const bool wide = columns % size == 0 && aligned(16, x, factors.columns) && aligned(size, y);
  const auto kernel =
      wide ? cast_transposed_kernel<T, true, measures, normed> : cast_transposed_kernel<T, false, measures, normed>;
  kernel<<<tiles_of<size>(rows, columns), threads, 0, native(stream)>>>(
      x, factors, y, transposed, rows, columns, aligned_to_16(rows, transposed), ScaleSource(args),
      args.to == DType::e4m3, args.stats);
}

template <typename T, bool measures>
void cast(Stream& stream, const CastToFloat8& args) {
  if (args.y_transposed != nullptr) return cast_transposed<T, measures, false>(stream, args);
  constexpr int size = Pack<T>::size;
  const auto* x = static_cast<const T*>(args.x);
  auto* y = static_cast<std::uint8_t*>(args.y);
  const std::int64_t packs = aligned(16, x) && aligned(size, y) ? args.n / size : 0;
  cast_kernel<T, measures><<<blocks_for(args.n, threads * size), threads, 0, native(stream)>>>(
      x, y, args.n, packs, ScaleSource(args), args.to == DType::e4m3, args.stats);
}

template <typename From, typename To>
void convert_all(Stream& stream, const Convert& args) {
  const auto* x = static_cast<const From*>(args.x);
  auto* y = static_cast<To*>(args.y);
  const std::int64_t packs = aligned(16, x, y) ? args.n / 4 : 0;
  convert_kernel<From, To><<<blocks_for(args.n, threads * 4), threads, 0, native(stream)>>>(x, y, args.n, packs);
  check_launch("convert");
}

}  // namespace

void compute_scales(Stream& stream, const ComputeScales& args) {
  if (args.n == 0) return;
  const float max_of_format = float8_max(args.format);
  const auto blocks = static_cast<unsigned>(ceil_div(args.n, threads));
  compute_scales_kernel<<<blocks, threads, 0, native(stream)>>>(args.amax, args.scale, args.inverse_scale, args.n,
                                                                max_of_format, args.power_of_two);
  check_launch("compute_scales");
}

void cast_to_float8(Stream& stream, const CastToFloat8& args) {
  if (args.n == 0) return;
  dispatch_storage(args.from, [&]<typename T>(T) {
    if (args.row_factor != nullptr) return cast_transposed<T, false, true>(stream, args);
    args.stats.wanted() ? cast<T, true>(stream, args) : cast<T, false>(stream, args);
  });
  check_launch("cast_to_float8");
}

void transpose_float8(Stream& stream, const TransposeFloat8& args) {
  if (args.rows == 0 || args.columns == 0) return;
  const auto* x = static_cast<const std::uint8_t*>(args.x);
  auto* y = static_cast<std::uint8_t*>(args.y);
  const auto kernel = aligned_to_16(args.columns, x) ? transpose_kernel<true> : transpose_kernel<false>;
  kernel<<<tiles_of<16>(args.rows, args.columns), threads, 0, native(stream)>>>(x, y, args.rows, args.columns,
                                                                                aligned_to_16(args.rows, y));
  check_launch("transpose_float8");
}

void convert(Stream& stream, const Convert& args) {
  if (args.n == 0) return;
  if (args.from == args.to) {
    check(cudaMemcpyAsync(args.y, args.x, static_cast<std::size_t>(args.n * size_of(args.from)),
                          cudaMemcpyDeviceToDevice, native(stream)),
          "convert: copying");
    return;
  }
  dispatch_storage(args.from, [&]<typename From>(From) {
    using To = std::conditional_t<std::is_same_v<From, float>, __nv_bfloat16, float>;
    convert_all<From, To>(stream, args);
  });
}

}  // namespace octet::cuda
