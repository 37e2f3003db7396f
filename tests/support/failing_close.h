#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

// For one source of a program.

namespace octet::test {

inline std::atomic<int> close_error = 0;

/// While it lives, each file that was open to be written is closed with that errno, as where a network file system only
/// then finds that a quota is full. One at a time.
class FailingClose {
 public:
  explicit FailingClose(int error) { close_error = error; }
  ~FailingClose() { close_error = 0; }
  FailingClose(const FailingClose&) = delete;
  FailingClose& operator=(const FailingClose&) = delete;
};

}  // namespace octet::test

// In place of libc's.
extern "C" int close(int file) {
  const int error = octet::test::close_error;
  const int flags = error == 0 ? -1 : ::fcntl(file, F_GETFL);
  const auto result = static_cast<int>(syscall(SYS_close, file));
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) return result;
  errno = error;
  return -1;
}
