#include "src/comm/nccl/nccl_reason.h"

#include <fmt/format.h>

namespace octet {

std::string nccl_reason(const NcclApi& api, ncclResult_t result) {
  const char* const last = api.get_last_error(nullptr);
  const std::string more = last == nullptr || *last == '\0' ? "" : fmt::format(" ({})", last);
  return fmt::format("NCCL: {}{}", api.get_error_string(result), more);
}

}  // namespace octet
