// Loaded before libc and MPI (LD_PRELOAD): rank 1 of a job stops itself, as by SIGSTOP, at the place that OCTET_STOP_AT
// names.
//   MPI_Init_thread, MPI_Finalize   before the call
//   MPI_Finalize_hangs              there the thread alone
//   fsync                           before its first: of its part of a checkpoint
//   fsync_hangs                     there the thread alone, as on a file system that does not answer
//   open                            before it opens the file whose name ends with OCTET_STOP_FILE
//   open_hangs                      there the thread alone, of whichever rank opens it
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <string_view>

namespace {

bool is(const char* variable, std::string_view value) {
  const char* const set = std::getenv(variable);
  return set != nullptr && set == value;
}

void stop_at(std::string_view place) {
  if (is("PMI_RANK", "1") && is("OCTET_STOP_AT", place)) raise(SIGSTOP);
}

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int open_as(const char* name, const char* path, int flags, int mode) {
  const char* const wanted = std::getenv("OCTET_STOP_FILE");
  if (wanted != nullptr && std::string_view(path).ends_with(wanted)) {
    stop_at("open");
    while (is("OCTET_STOP_AT", "open_hangs")) pause();
  }
  return next<int(const char*, int, ...)>(name)(path, flags, mode);
}

int mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, int) : 0;
}

}  // namespace

extern "C" {
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  stop_at("MPI_Init_thread");
  return PMPI_Init_thread(argc, argv, required, provided);
}

int MPI_Finalize() {
  stop_at("MPI_Finalize");
  while (is("PMI_RANK", "1") && is("OCTET_STOP_AT", "MPI_Finalize_hangs")) pause();
  return PMPI_Finalize();
}

int fsync(int file) {
  stop_at("fsync");
  while (is("PMI_RANK", "1") && is("OCTET_STOP_AT", "fsync_hangs")) pause();
  return next<int(int)>("fsync")(file);
}

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const int mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_as("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const int mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_as("open64", path, flags, mode);
}
}
