#include "kernels/table.h"

#include "kernels/cuda/cuda_kernels.h"

namespace octet {
namespace cuda {
namespace {

constexpr KernelTable table = {.float8_gemm_k_major = true,
                               .logits_bytes = std::int64_t{1} << 30,
                               OCTET_OPERATIONS(OCTET_INITIALIZE, OCTET_INITIALIZE_WITH_WORKSPACE)};

}  // namespace
}  // namespace cuda

bool has_cuda_kernels() {
  return true;
}

const KernelTable& cuda_kernels() {
  return cuda::table;
}

}  // namespace octet
