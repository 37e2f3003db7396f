#include "src/comm/mpi/crash_signals.h"

#include <dlfcn.h>

#include <cstdlib>

namespace octet {

void leave_crashes_to_the_system() {
  if (std::getenv("UCX_HANDLE_ERRORS") != nullptr || std::getenv("UCX_ERROR_SIGNALS") != nullptr) return;
  // In a program that is linked with UCX, the handlers of UCX are installed already, and UCX has read its variables:
  // one that is set later would bring a warning. In other programs MPI_Init loads UCX.
  using Disable = void (*)();
  if (const auto disable = reinterpret_cast<Disable>(dlsym(RTLD_DEFAULT, "ucs_debug_disable_signals"))) {
    disable();
  } else {
    setenv("UCX_HANDLE_ERRORS", "none", 0);
  }
}

}  // namespace octet
