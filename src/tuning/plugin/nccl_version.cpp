#include "src/tuning/plugin/nccl_version.h"

#include <dlfcn.h>

namespace octet {
namespace {

int ask(void* scope) noexcept {
  const auto get_version = reinterpret_cast<int (*)(int*)>(dlsym(scope, "ncclGetVersion"));
  int version = 0;
  return get_version != nullptr && get_version(&version) == 0 ? version : 0;
}

/// 0 also where the library is the program itself, which has no name to open.
int ask_library_of(const void* address) noexcept {
  Dl_info info{};
  if (address == nullptr || dladdr(address, &info) == 0 || info.dli_fname == nullptr) return 0;
  void* const library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return 0;
  const int version = ask(library);
  dlclose(library);
  return version;
}

}  // namespace

int nccl_version(const void* inside_nccl) noexcept {
  const int version = ask_library_of(inside_nccl);
  return version != 0 ? version : ask(RTLD_DEFAULT);
}

}  // namespace octet
