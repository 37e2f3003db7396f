#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/device/float8.cuh"
#include "kernels/rowwise.h"

/// The parts of quantize_rowwise.
namespace octet::cuda::rowwise {

/// Codes of neighbouring elements, each with a scale of its own.
template <typename T, int size>
__device__ __forceinline__ Codes<size> cast_each(const Chunk<T, size>& x, const Chunk<float, size>& s, bool to_e4m3) {
  Codes<size> codes;
#pragma unroll
  for (int j = 0; j < size; j += 4) {
    codes.v[j / 4] = float8_codes(to_float(x.v[j]) * s.v[j], to_float(x.v[j + 1]) * s.v[j + 1],
                                  to_float(x.v[j + 2]) * s.v[j + 2], to_float(x.v[j + 3]) * s.v[j + 3], to_e4m3);
  }
  return codes;
}

/// One form alone, with one read of x: rows in registers, columns in the shared memory of clusters of blocks. False
/// where shape, addresses or device do not allow it, and then nothing is launched.
template <typename T>
bool by_row_alone(const QuantizeRowwise& args, cudaStream_t stream);
template <typename T>
bool by_column_alone(const QuantizeRowwise& args, cudaStream_t stream);

}  // namespace octet::cuda::rowwise
