#include "src/device/ranges.h"

#include <nvtx3/nvToolsExt.h>

#include <string>

namespace octet {

void push_range(std::string_view name) {
  nvtxRangePushA(std::string(name).c_str());  // names of units are short: no allocation
}

void pop_range() noexcept {
  nvtxRangePop();
}

}  // namespace octet
