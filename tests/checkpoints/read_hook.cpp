#include "tests/checkpoints/read_hook.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace octet::checkpoint::test {

std::function<int()> before_read;

}  // namespace octet::checkpoint::test

// In place of the system's, for our own reads and HDF5's.
extern "C" ssize_t pread(int file, void* to, std::size_t bytes, off_t offset) {
  using octet::checkpoint::test::before_read;
  if (const int error = before_read ? before_read() : 0) {
    errno = error;
    return -1;
  }
  return syscall(SYS_pread64, file, to, bytes, offset);
}
