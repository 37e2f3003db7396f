#include "src/comm/mpi/crash_signals.h"

#include <dlfcn.h>

#include <cstdlib>

namespace octet {

void leave_crashes_to_the_system() {
  if (std::getenv("UCX_HANDLE_ERRORS") != nullptr || std::getenv("UCX_ERROR_SIGNALS") != nullptr) return;
  // A program that is linked with UCX has its handlers already, and UCX has read its variables: it would warn of one
  // that comes later. Elsewhere MPI_Init loads it.
  using Disable = void (*)();
  if (const auto disable = reinterpret_cast<Disable>(dlsym(RTLD_DEFAULT, "ucs_debug_disable_signals"))) {
    disable();
  } else {
    setenv("UCX_HANDLE_ERRORS", "none", 0);
  }
}

}  // namespace octet
