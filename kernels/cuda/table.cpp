#include "kernels/table.h"

#include "kernels/cuda/cuda_kernels.h"

namespace octet {
namespace cuda {
namespace {

constexpr KernelTable table = {.float8_gemm_k_major = float8_gemm_k_major_on(DeviceType::cuda),
                               .logits_bytes = logits_bytes_on(DeviceType::cuda),
                               OCTET_OPERATIONS(OCTET_INITIALIZE, OCTET_INITIALIZE_WITH_WORKSPACE)};

}  // namespace
}  // namespace cuda

const KernelTable& cuda_kernels() {
  return cuda::table;
}

}  // namespace octet
