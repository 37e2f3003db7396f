#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace octet {

/// While it lives, handlers of signals that are sent to the process (SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM
/// and SIGCHLD) run on a thread that does nothing else, and never in the midst of a computation. What signals do stays
/// as it is: a handler runs, or the process ends.
///
/// oneDNN needs that: while its f32 GEMM multiplies by a transposed matrix, the stack pointer is in a workspace of the
/// heap, and the frame of a handler would overwrite what lies below it (seen with 2.6 on a processor with AVX-512,
/// where a stopped run lost its last checkpoint).
///
/// Must be made first in main: a thread inherits from the thread that starts it which signals it takes.
class SignalThread {
 public:
  /// SIGUSR1 waits until take_user_signal(): MPICH puts a handler of its own in place while it comes up, and a request
  /// that Slurm sends once would be lost to it.
  SignalThread();
  ~SignalThread();
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

  /// From now on SIGUSR1 is taken too, one that has come before among them.
  void take_user_signal();

 private:
  void sleep();

  std::mutex mutex_;
  std::condition_variable wake_;
  bool ends_ = false, takes_user_signal_ = false;
  std::thread thread_;
};

}  // namespace octet
