#pragma once

#include <sys/types.h>

#include <atomic>
#include <csignal>
#include <string>

namespace octet {

/// From now on a SIGINT, SIGTERM or SIGHUP that ends this process first sends SIGTERM to the programs of run_program:
/// each has a process group of its own, which neither Ctrl-C nor the loss of a terminal reaches. A signal that is
/// ignored, or has a handler, stays as it is. To be called first in main.
void end_programs_with_us();

/// This thread takes none of the three signals until release() or the end of this object: they wait.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals() { release(); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  /// Signals that did not come to this thread before.
  const sigset_t& before() const { return before_; }
  void release();

 private:
  sigset_t before_{};
};

/// Notes the process group of a program, while this object lives, as one to be ended with this process. Any thread. Of
/// more than 64 at once the last are not noted.
class RunningProgram {
 public:
  explicit RunningProgram(pid_t group);
  ~RunningProgram();
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

 private:
  std::atomic<pid_t>* noted_ = nullptr;
};

/// What such an end says on standard error while this object lives, one at a time: what is then known of nowhere else.
class LastWords {
 public:
  explicit LastWords(std::string text);
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

 private:
  std::string text_;
};

}  // namespace octet
