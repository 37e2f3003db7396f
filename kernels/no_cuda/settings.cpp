#include "kernels/cuda_settings.h"
#include "src/base/error.h"

namespace octet {

void set_cuda_settings(const CudaSettings& settings) {
  if (settings == CudaSettings{}) return;
  throw usage_error("kernels", "this build has no CUDA kernels, so settings of them have no effect; leave them out");
}

}  // namespace octet
