#pragma once

#include <cuda_runtime_api.h>

#include "src/base/error.h"
#include "src/device/device.h"

namespace octet::cuda {

/// Throws internal_error with what was tried and CUDA's own words. A kernel's fault may show at any later call.
inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw internal_error("device", "CUDA: {}: {} ({})", what, cudaGetErrorString(status), cudaGetErrorName(status));
}

inline cudaStream_t native(const Stream& stream) {
  return static_cast<cudaStream_t>(stream.native());
}

}  // namespace octet::cuda
