#include "src/base/signal_thread.h"

#include <csignal>

namespace octet {
namespace {

/// SIGPROF is left to profilers, which want it where the time goes.
sigset_t sent_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD}) sigaddset(&set, signal);
  return set;
}

}  // namespace

SignalThread::SignalThread() : thread_([this] { sleep(); }) {
  const sigset_t signals = sent_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

SignalThread::~SignalThread() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_.notify_one();
  thread_.join();
  const sigset_t signals = sent_signals();
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

void SignalThread::sleep() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return ends_; });
}

}  // namespace octet
