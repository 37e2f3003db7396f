#include <fcntl.h>
#include <mpi.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/reason.h"
#include "src/comm/failure.h"
#include "src/comm/mpi/mpi_requests.h"
#include "src/comm/mpi/mpi_runtime.h"
#include "src/comm/operation.h"

namespace octet {
namespace {

constexpr std::chrono::seconds seconds_for_finalize(10);

/// Waits, at most a second, until the launcher has read what was written to the pipe. MPI_Abort reaches the launcher by
/// another way: it then stops reading, and the message that says why the job ends would be lost.
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

/// Ends this process alone, without MPI. When the PMI socket of a process closes that has not finalized MPI, hydra
/// kills the others and sometimes exits with 1, whatever their exit codes are. So a `sleep` keeps the socket open while
/// all ranks end, which they do within two seconds.
[[noreturn]] void end_without_mpi(int exit_code) {
  std::array<char, 6> name{"sleep"};
  std::array<char, 2> seconds{"2"};
  std::array<char*, 3> arguments{name.data(), seconds.data(), nullptr};
  posix_spawn_file_actions_t files;
  const char* const socket = std::getenv("PMI_FD");
  if (socket != nullptr && posix_spawn_file_actions_init(&files) == 0) {
    for (int file = STDOUT_FILENO; file < 1024; ++file) fcntl(file, F_SETFD, FD_CLOEXEC);
    posix_spawn_file_actions_adddup2(&files, std::atoi(socket), STDIN_FILENO);
    pid_t holder = 0;
    posix_spawnp(&holder, name.data(), &files, nullptr, arguments.data(), environ);
  }
  _exit(exit_code);
}

/// All ranks have done what they came for. MPICH 4.0 over UCX hangs in MPI_Finalize where one rank comes later than the
/// others (over TCP in every second run of two ranks that do not wait for each other), and does so now and then where
/// all come at once. So the ranks meet first, and one whose MPI_Finalize does not return soon after ends without it.
void end_even_if_mpi_hangs(int exit_code) {
  enter(RunPhase::end);
  const OperationScope operation("barrier before MPI_Finalize");
  MpiRequests barrier(1, MPI_REQUEST_NULL);
  check_mpi(MPI_Ibarrier(MPI_COMM_WORLD, barrier.data()), "MPI_Ibarrier");
  wait_all(barrier, operation);
  std::fflush(nullptr);
  try {
    std::thread([exit_code] {
      std::this_thread::sleep_for(seconds_for_finalize);
      log::warning("MPI_Finalize has not ended within {} s; all is done, and this process ends without it",
                   seconds_for_finalize.count());
      end_without_mpi(exit_code);
    }).detach();
  } catch (const std::exception&) {  // no thread: then it is left to MPI
  }
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
      const int code = body(runtime, argc, argv);
      if (runtime.size() > 1) end_even_if_mpi_hangs(code);
      return code;
    } catch (const Error& e) {
      return fail(runtime, e.code(), e.what(), e.agreed());
    } catch (const std::exception& e) {
      return fail(runtime, ExitCode::internal, reason_of(e).c_str());
    } catch (...) {
      return fail(runtime, ExitCode::internal, "an exception of unknown type");
    }
  } catch (const Error& e) {  // MPI itself did not come up
    tell_failure(e.code(), e.what());
    return static_cast<int>(e.code());
  } catch (const std::exception& e) {
    tell_failure(ExitCode::internal, reason_of(e));
    return static_cast<int>(ExitCode::internal);
  }
}

}  // namespace octet
