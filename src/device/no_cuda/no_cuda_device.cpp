#include "src/base/error.h"
#include "src/device/device.h"
#include "src/device/ranges.h"

namespace octet {

std::string why_no_cuda() {
  return "this build has no CUDA backend (build with the preset `cuda`, where nvcc is)";
}

std::string cuda_bus_id(int) {
  return "";
}

Device& cuda_device(int index) {
  throw usage_error("device", "cuda device {}: {}; use --device cpu (docs/problems.md, \"The program has no CUDA\")",
                    index, why_no_cuda());
}

void push_range(std::string_view) {}
void pop_range() noexcept {}

}  // namespace octet
