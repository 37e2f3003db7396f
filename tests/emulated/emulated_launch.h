#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <string>
#include <tuple>
#include <utility>

#include "tests/emulated/thread_block.h"

namespace octet::emulated {

/// Gives a grid to a stream. A launch that CUDA refuses is refused: cudaGetLastError has it.
void give(cudaStream_t stream, Grid grid, const void* kernel, std::function<void()> thread);

/// KERNEL<<<blocks, threads, shared, stream>>>(arguments), as to_host.py writes it.
class Launch {
 public:
  Launch(const char* name, dim3 blocks, dim3 threads, std::size_t shared = 0, cudaStream_t stream = nullptr,
         unsigned cluster = 1)
      : grid_{.kernel = name, .blocks = blocks, .threads = threads, .cluster = cluster, .shared = shared},
        stream_(stream) {}

  /// Arguments are converted and copied now, as CUDA does; every thread has copies of its own.
  template <typename... Parameters, typename... Arguments>
  void operator()(void (*kernel)(Parameters...), const Arguments&... arguments) const {
    struct Call {
      void (*kernel)(Parameters...);
      std::tuple<std::remove_cv_t<Parameters>...> arguments;
    };
    give(stream_, grid_, reinterpret_cast<const void*>(kernel), [call = Call{kernel, {arguments...}}] {
      const KernelCode code(&call, sizeof call);
      std::apply(call.kernel, call.arguments);
    });
  }

 private:
  Grid grid_;
  cudaStream_t stream_;
};

/// The block's dynamic shared memory.
template <typename T>
T* dynamic_shared() {
  return reinterpret_cast<T*>(cuda::dynamic_shared_memory);
}

}  // namespace octet::emulated

/// As nvcc has it, for kernels.
template <typename... Parameters>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute attribute, int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}
