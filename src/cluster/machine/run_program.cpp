#include "src/cluster/machine/run_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/cluster/machine/running_program.h"

namespace octet {
namespace {

using Clock = std::chrono::steady_clock;

/// How much longer the output of a program that has ended is read, where a process that it started still holds it open.
constexpr std::chrono::milliseconds grace(500);

struct Pipe {
  FileHandle read, write;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw internal_error("cluster", "no pipe: {}", std::strerror(errno));
  return {FileHandle(ends[0]), FileHandle(ends[1])};
}

/// What the program is to read, in a file without a name: nobody has to write while it runs.
FileHandle readable(std::string_view text) {
  FileHandle file(text.empty() ? open("/dev/null", O_RDONLY | O_CLOEXEC) : memfd_create("input", MFD_CLOEXEC));
  if (!file || !write_all(file.get(), text))
    throw internal_error("cluster", "no input for a program: {}", std::strerror(errno));
  lseek(file.get(), 0, SEEK_SET);
  return file;
}

/// Starts the program in a process group of its own, with `blocked` as its signal mask; -1 where there is no program of
/// that name.
pid_t start(const std::vector<std::string>& command, int in, int out, int err, const sigset_t& blocked) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, err, STDERR_FILENO);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &blocked);

  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));  // not written to
  arguments.push_back(nullptr);
  pid_t child = -1;
  const int error = posix_spawnp(&child, arguments[0], &files, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error == 0) return child;
  if (error == ENOENT || error == EACCES || error == ENOTDIR) return -1;
  throw internal_error("cluster", "cannot start {}: {}", command[0], std::strerror(error));
}

/// Appends what can be read now; closes the handle at the end of the stream.
void drain(FileHandle& end, std::string& text) {
  std::array<char, 65536> block{};
  const ssize_t n = read(end.get(), block.data(), block.size());
  if (n > 0) text.append(block.data(), static_cast<std::size_t>(n));
  if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) end = FileHandle();
}

int milliseconds_to(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

/// Waits at most so long for output on one of the open streams, and appends it to the result.
void collect(FileHandle& out, FileHandle& err, ProgramResult& result, int milliseconds) {
  std::array<pollfd, 2> wanted{{{out ? out.get() : -1, POLLIN, 0}, {err ? err.get() : -1, POLLIN, 0}}};
  if (poll(wanted.data(), wanted.size(), milliseconds) <= 0) return;
  if (wanted[0].revents != 0) drain(out, result.out);
  if (wanted[1].revents != 0) drain(err, result.err);
}

/// The exit code of a child that has ended, -1 where nobody knows it; nothing while the child runs.
std::optional<int> ending_of(pid_t child) {
  int status = 0;
  const pid_t ended = waitpid(child, &status, WNOHANG);
  if (ended == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (ended < 0 && errno != EINTR) return -1;
  return std::nullopt;
}

/// Collects both streams until the child and both streams have ended; for the streams it waits no longer than the grace
/// after the child's end. Returns the exit code, or -1 when the child has not ended by the deadline.
int follow(pid_t child, FileHandle& out, FileHandle& err, ProgramResult& result, Clock::time_point deadline) {
  std::optional<int> code;
  while (!code || out || err) {
    const int left = milliseconds_to(deadline);
    collect(out, err, result, std::min(left, out || err ? 100 : 1));  // when the time is over, what is there already
    if (left == 0) break;
    if (code) continue;
    code = ending_of(child);
    if (code) deadline = std::min(deadline, Clock::now() + grace);
  }
  return code.value_or(-1);
}

}  // namespace

std::string ProgramResult::failure(const std::string& program) const {
  if (!found) return fmt::format("{} is not there", program);
  if (timed_out) return fmt::format("{} did not answer in time", program);
  const std::string& text = err.empty() ? out : err;
  const std::string line = text.substr(0, text.find('\n'));
  return fmt::format("{} ended with {}{}{}", program, exit_code, line.empty() ? "" : ": ", line);
}

ProgramResult run_program(const std::vector<std::string>& command, double seconds, std::string_view input) {
  Pipe out = make_pipe(), err = make_pipe();
  const FileHandle in = readable(input);
  HeldSignals held;  // a signal that came before the program is noted would not end the program
  const pid_t child = start(command, in.get(), out.write.get(), err.write.get(), held.before());
  ProgramResult result;
  if (child < 0) return result;
  const RunningProgram running(child);
  held.release();
  result.found = true;
  out.write = FileHandle();
  err.write = FileHandle();
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  result.exit_code = follow(child, out.read, err.read, result, deadline);
  if (result.exit_code < 0) {
    result.timed_out = true;
    kill(-child, SIGKILL);
    out.read.reset();
    err.read.reset();
    result.exit_code = follow(child, out.read, err.read, result, Clock::now() + std::chrono::seconds(1));
  }
  return result;
}

}  // namespace octet
