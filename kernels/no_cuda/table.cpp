#include "kernels/table.h"

namespace octet {

const KernelTable& cuda_kernels() {
  throw usage_error("kernels", "this build has no CUDA kernels; use --device cpu");
}

}  // namespace octet
