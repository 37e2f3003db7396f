#include "kernels/cuda/launch.h"
#include "kernels/cuda/rowwise.cuh"
#include "kernels/cuda/scale.cuh"
#include "kernels/cuda/vector.cuh"

namespace octet::cuda::rowwise {
namespace {

constexpr int most_threads = 512;

/// A row a block, in registers, P packs a thread: reads columns · sizeof(T) bytes, writes columns.
template <typename T, int P>
__global__ void __launch_bounds__(most_threads, P <= 4 ? 2 : 1)
    row_kernel(const T* __restrict__ x, std::int64_t columns, RowwiseForm form, double max_of_format, bool power_of_two,
               bool to_e4m3) {
  constexpr int size = Pack<T>::size;
  __shared__ unsigned maxima[32];
  __shared__ float scale;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::int64_t first = blockIdx.x * columns;
  const auto at = [](int p) { return (std::int64_t{p} * blockDim.x + threadIdx.x) * size; };
  Chunk<T, size> in[P];
#pragma unroll
  for (int p = 0; p < P; ++p) {
    if (at(p) < columns) in[p] = read<true, size>(x + first + at(p), size);
  }
  unsigned most = 0;  // the bits of |x| order like the values, NaN above all
#pragma unroll
  for (int p = 0; p < P; ++p) {
    if (at(p) >= columns) continue;
#pragma unroll
    for (int j = 0; j < size; ++j) most = max(most, __float_as_uint(to_float(in[p].v[j])) & 0x7FFFFFFFu);
  }
  most = __reduce_max_sync(~0u, most);
  if (lane == 0) maxima[warp] = most;
  __syncthreads();
  if (warp == 0) {
    most = __reduce_max_sync(~0u, lane < blockDim.x / 32 ? maxima[lane] : 0);
    if (lane == 0) {
      scale = scale_of(__uint_as_float(most), max_of_format, power_of_two);
      form.scale[blockIdx.x] = scale;
      form.inverse_scale[blockIdx.x] = 1.0f / scale;
    }
  }
  __syncthreads();
  const Float8Cast cast{scale, to_e4m3};
#pragma unroll
  for (int p = 0; p < P; ++p) {
    if (at(p) < columns) write_codes<true, size>(static_cast<std::uint8_t*>(form.y) + first + at(p), cast(in[p]), size);
  }
}

}  // namespace

template <typename T>
bool by_row_alone(const QuantizeRowwise& args, cudaStream_t stream) {
  constexpr int size = Pack<T>::size;
  const auto launch = [&]<int P>() {
    const std::int64_t threads = ceil_div(ceil_div(args.columns / size, P), 32) * 32;
    if (threads > most_threads) return false;
    row_kernel<T, P><<<static_cast<unsigned>(args.rows), static_cast<unsigned>(threads), 0, stream>>>(
        static_cast<const T*>(args.x), args.columns, args.by_row, static_cast<double>(float8_max(args.to)),
        args.power_of_two, args.to == DType::e4m3);
    return true;
  };
  if (args.columns % size != 0 || !aligned(16, args.x) || !aligned(size, args.by_row.y)) return false;
  return launch.template operator()<4>() || launch.template operator()<8>();
}
template bool by_row_alone<float>(const QuantizeRowwise&, cudaStream_t);
template bool by_row_alone<__nv_bfloat16>(const QuantizeRowwise&, cudaStream_t);

}  // namespace octet::cuda::rowwise
