#include <mpi.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <thread>

#include "src/base/error.h"
#include "src/comm/failure.h"
#include "src/comm/mpi/mpi_runtime.h"

namespace octet {
namespace {

/// Until the launcher has read what was written to it, at most a second. MPI_Abort takes another way to the launcher,
/// which stops reading once it has that, and the message that says why would be lost.
void wait_until_read(int pipe) {
  struct stat status {};
  if (fstat(pipe, &status) != 0 || !S_ISFIFO(status.st_mode)) return;
  for (int i = 0, unread = 0; i < 1000 && ioctl(pipe, FIONREAD, &unread) == 0 && unread > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// A lone rank returns and finalizes MPI: mpiexec can lose the code of one that just exits (it then says 1, "Hangup").
int fail(const MpiRuntime& runtime, ExitCode code, const char* message, bool agreed = false) {
  tell_failure(code, message, agreed);
  if (runtime.size() == 1) return static_cast<int>(code);
  abort_job(static_cast<int>(code));
}

}  // namespace

void abort_job(int exit_code) {
  std::fflush(nullptr);
  wait_until_read(STDERR_FILENO);
  wait_until_read(STDOUT_FILENO);
  end_soon(exit_code);
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  _exit(exit_code);
}

int run_main(int argc, char** argv, const std::function<int(MpiRuntime&, int argc, char** argv)>& body) {
  try {
    MpiRuntime runtime(argc, argv);
    try {
      return body(runtime, argc, argv);
    } catch (const Error& e) {
      return fail(runtime, e.code(), e.what(), e.agreed());
    } catch (const std::exception& e) {
      return fail(runtime, ExitCode::internal, e.what());
    } catch (...) {
      return fail(runtime, ExitCode::internal, "an exception of unknown type");
    }
  } catch (const Error& e) {  // MPI itself did not come up
    tell_failure(e.code(), e.what());
    return static_cast<int>(e.code());
  }
}

}  // namespace octet
