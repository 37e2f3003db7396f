#include "kernels/table.h"

#include "kernels/cpu/cpu_kernels.h"

namespace octet {
namespace cpu {
namespace {

constexpr KernelTable table = {OCTET_OPERATIONS(OCTET_INITIALIZE, OCTET_INITIALIZE_WITH_WORKSPACE)};

}  // namespace
}  // namespace cpu

const KernelTable& cpu_kernels() {
  return cpu::table;
}

}  // namespace octet
