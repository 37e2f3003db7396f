#include "kernels/cuda/gemm/gemm_scales.h"

#include "kernels/cuda/device/vector.cuh"
#include "kernels/cuda/host/launch.h"

namespace octet::cuda {
namespace {

constexpr int threads = 256;

/// A stride of 0 stands for one scale for all. Neighbouring threads take neighbouring columns.
template <typename C>
__global__ void __launch_bounds__(threads)
    scale_kernel(const float* __restrict__ sums, C* __restrict__ c, std::int64_t elements, std::int64_t n,
                 const float* __restrict__ of_row, int row_stride, const float* __restrict__ of_column,
                 int column_stride, bool add) {
  const std::int64_t stride = std::int64_t{gridDim.x} * threads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x; i < elements; i += stride) {
    const std::int64_t row = i / n, column = i - row * n;
    const float scale = of_row[row * row_stride] * of_column[column * column_stride];
    const float scaled = scale * sums[i];
    c[i] = from_float<C>(add ? scaled + to_float(c[i]) : scaled);
  }
}

}  // namespace

void scale_sums(Stream& stream, const Gemm& args, const float* sums) {
  const std::int64_t elements = args.m * args.n;
  dispatch_storage(args.c_dtype, [&]<typename C>(C) {
    scale_kernel<C><<<blocks_for(elements, threads), threads, 0, native(stream)>>>(
        sums, static_cast<C*>(args.c), elements, args.n, args.a.inverse_scale, args.a.scales == ScaleForm::each ? 1 : 0,
        args.b.inverse_scale, args.b.scales == ScaleForm::each ? 1 : 0, args.beta != 0.0f);
  });
  check_launch("scale_sums");
}

}  // namespace octet::cuda
