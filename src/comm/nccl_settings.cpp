#include "src/comm/nccl_settings.h"

#include <dlfcn.h>

#include <cstdlib>

#include "src/base/error.h"

namespace octet {
namespace {

constexpr const char* variable = "NCCL_HOSTID";

bool nccl_is_loaded() {
  void* const library = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  dlclose(library);
  return true;
}

}  // namespace

void separate_ranks(const std::string& node, int local_rank, std::int64_t ranks_per_gpu) {
  if (ranks_per_gpu == 1) return;
  const std::string id = fmt::format("{}.{}", node, local_rank % ranks_per_gpu);
  const char* const known = std::getenv(variable);
  if (known != nullptr && known == id) return;
  if (nccl_is_loaded()) {
    throw internal_error("comm", "NCCL is loaded and may have read {} = {}: too late to set it to {}", variable,
                         known == nullptr ? "(none)" : known, id);
  }
  setenv(variable, id.c_str(), 1);
}

}  // namespace octet
