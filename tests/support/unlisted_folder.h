#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <string>

namespace octet::test {

/// A folder that can be opened, in which nothing is to be found, and whose listing ends in an error (EINVAL) that is
/// none of its path: it stands for a folder of a file server that fails. Linux has it for a process that has ended and
/// that nobody has waited for.
class UnlistedFolder {
 public:
  UnlistedFolder() : process_(fork()) {
    if (process_ == 0) _exit(0);
    siginfo_t ended{};
    if (process_ < 0 || waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED | WNOWAIT) != 0) {
      throw std::runtime_error("no process to end");
    }
  }
  ~UnlistedFolder() { waitpid(process_, nullptr, 0); }
  UnlistedFolder(const UnlistedFolder&) = delete;
  UnlistedFolder& operator=(const UnlistedFolder&) = delete;

  std::string path() const { return "/proc/" + std::to_string(process_) + "/net"; }

 private:
  pid_t process_;
};

}  // namespace octet::test
