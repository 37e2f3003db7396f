#include <fcntl.h>
#include <mpi.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/write_all.h"
#include "src/comm/mpi/mpi_runtime.h"

namespace octet {
namespace {

/// How long a rank that failed leaves it to others to speak (see run_main).
std::chrono::milliseconds patience(ExitCode code, int rank) {
  if (code == ExitCode::usage && rank > 0) return std::chrono::milliseconds(1000 + std::min(20 * rank, 2000));
  if (code == ExitCode::lost_peer) return std::chrono::milliseconds(500);
  return {};
}

/// Until the launcher has read what was written to it, at most a second. MPI_Abort takes another way to the launcher,
/// which stops reading once it has that, and the message that says why would be lost.
void wait_until_read(int pipe) {
  struct stat status {};
  if (fstat(pipe, &status) != 0 || !S_ISFIFO(status.st_mode)) return;
  for (int i = 0, unread = 0; i < 1000 && ioctl(pipe, FIONREAD, &unread) == 0 && unread > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// For whoever started the job, in the file that OCTET_FAILURE_FILE names: the exit code and the message of the rank
/// that speaks first. A launcher's exit code carries neither.
void leave_reason(ExitCode code, const std::string& who, const char* message) {
  const char* const path = std::getenv("OCTET_FAILURE_FILE");
  if (path == nullptr || *path == '\0') return;
  const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) return;  // another rank has spoken
  const std::string text = fmt::format("{} {}{}\n", static_cast<int>(code), who, message);
  [[maybe_unused]] const bool written = write_all(file, text);
  close(file);
}

/// A lone rank returns and finalizes MPI: mpiexec can lose the code of one that just exits (it then says 1, "Hangup").
int fail(const MpiRuntime& runtime, ExitCode code, const char* message) {
  std::this_thread::sleep_for(patience(code, runtime.rank()));
  leave_reason(code, fmt::format("rank {} on {}: ", runtime.rank(), runtime.node()), message);
  // The log names rank and host itself except on rank 0, whose voice is that of the whole job.
  if (runtime.rank() == 0 && runtime.size() > 1 && code != ExitCode::usage) {
    log::error("[rank 0 {}] {}", runtime.node(), message);
  } else {
    log::error("{}", message);
  }
  if (runtime.size() == 1) return static_cast<int>(code);
  abort_job(static_cast<int>(code));
}

}  // namespace

void abort_job(int exit_code) {
  std::fflush(nullptr);
  wait_until_read(STDERR_FILENO);
  wait_until_read(STDOUT_FILENO);
  std::thread([exit_code] {
    std::this_thread::sleep_for(std::chrono::seconds(10));
    _exit(exit_code);
  }).detach();
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  _exit(exit_code);
}

int run_main(int argc, char** argv, const std::function<int(MpiRuntime&, int argc, char** argv)>& body) {
  try {
    MpiRuntime runtime(argc, argv);
    try {
      return body(runtime, argc, argv);
    } catch (const Error& e) {
      return fail(runtime, e.code(), e.what());
    } catch (const std::exception& e) {
      return fail(runtime, ExitCode::internal, e.what());
    } catch (...) {
      return fail(runtime, ExitCode::internal, "an exception of unknown type");
    }
  } catch (const Error& e) {  // MPI itself did not come up
    log::error("{}", e.what());
    leave_reason(e.code(), "", e.what());
    return static_cast<int>(e.code());
  }
}

}  // namespace octet
