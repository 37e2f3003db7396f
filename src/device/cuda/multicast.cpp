#include "src/device/cuda/multicast.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace octet::cuda {

bool has_multicast(int index) {
  // CUDA's run time has no name for the attribute, and the driver's library is not linked. A device has one number for
  // both.
  constexpr unsigned version = 12000;  // the function is older than any driver that is left
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  if (cudaGetDriverEntryPointByVersion("cuDeviceGetAttribute", &function, version, cudaEnableDefault, &found) !=
      cudaSuccess) {
    cudaGetLastError();  // or the next launch would report it
    return false;
  }
  if (found != cudaDriverEntryPointSuccess) return false;
  int multicast = 0;
  const auto ask = reinterpret_cast<decltype(&cuDeviceGetAttribute)>(function);
  return ask(&multicast, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, index) == CUDA_SUCCESS && multicast != 0;
}

}  // namespace octet::cuda
