#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace octet::test {

/// What a command left behind.
struct CommandResult {
  int exit_code = -1;  ///< as a shell reports it: 128 + n when signal n killed it
  bool timed_out = false;
  std::string out;
  std::string err;

  std::string all() const { return out + err; }
};

namespace detail {

struct Pipe {
  std::array<int, 2> end{-1, -1};
  Pipe() {
    if (pipe2(end.data(), O_CLOEXEC) != 0) throw std::runtime_error("run_command: no pipe");
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_end(std::size_t i) {
    if (end[i] >= 0) close(end[i]);
    end[i] = -1;
  }
  /// Appends what can be read now; at the end of the stream closes the reading end.
  void drain_to(std::string& text) {
    std::array<char, 65536> block;
    const ssize_t n = read(end[0], block.data(), block.size());
    if (n > 0) text.append(block.data(), static_cast<std::size_t>(n));
    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) close_end(0);
  }
};

/// The child's side: own process group (so that a timeout ends its children too), no standard input.
[[noreturn]] inline void exec_shell(const std::string& command, int out, int err) {
  setpgid(0, 0);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
  _exit(127);
}

}  // namespace detail

/// Runs `command` with /bin/sh, its standard input empty, until it and everything that holds its output has ended.
/// After `timeout_seconds` its process group gets SIGTERM, two seconds later SIGKILL; the time limit is there to end
/// a hang, so make it generous. Throws std::runtime_error when no process can be started.
inline CommandResult run_command(const std::string& command, double timeout_seconds = 60.0) {
  using Clock = std::chrono::steady_clock;
  detail::Pipe out, err;
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("run_command: cannot fork");
  if (child == 0) detail::exec_shell(command, out.end[1], err.end[1]);
  setpgid(child, child);  // both sides set it: neither can know who runs first
  out.close_end(1);
  err.close_end(1);

  CommandResult result;
  auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_seconds));
  bool killed = false;
  while (out.end[0] >= 0 || err.end[0] >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      if (killed) break;  // whatever still holds the pipes has left our process group
      kill(-child, result.timed_out ? SIGKILL : SIGTERM);
      killed = result.timed_out;
      result.timed_out = true;
      deadline = Clock::now() + std::chrono::seconds(2);
      continue;
    }
    std::array<pollfd, 2> wanted{{{out.end[0], POLLIN, 0}, {err.end[0], POLLIN, 0}}};
    if (poll(wanted.data(), wanted.size(), static_cast<int>(left)) <= 0) continue;
    if (wanted[0].revents != 0) out.drain_to(result.out);
    if (wanted[1].revents != 0) err.drain_to(result.err);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace octet::test
