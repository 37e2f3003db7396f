#include "kernels/table.h"

namespace octet {

const KernelTable& kernels_of(const Stream& stream) {
  return stream.device().type() == DeviceType::cuda ? cuda_kernels() : cpu_kernels();
}

}  // namespace octet
