#include "src/base/signal_thread.h"

#include <csignal>
#include <initializer_list>

namespace octet {
namespace {

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

/// SIGPROF is left to profilers, which want it where the time goes.
sigset_t sent_signals() {
  return set_of({SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD});
}

}  // namespace

SignalThread::SignalThread() {
  const sigset_t user_signal = set_of({SIGUSR1}), signals = sent_signals();
  pthread_sigmask(SIG_BLOCK, &user_signal, nullptr);  // the thread inherits that
  thread_ = std::thread([this] { sleep(); });
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

void SignalThread::take_user_signal() {
  {
    const std::lock_guard lock(mutex_);
    takes_user_signal_ = true;
  }
  wake_.notify_one();
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
  wake_.wait(lock, [this] { return ends_ || takes_user_signal_; });
  const sigset_t user_signal = set_of({SIGUSR1});
  pthread_sigmask(SIG_UNBLOCK, &user_signal, nullptr);
  wake_.wait(lock, [this] { return ends_; });
}

}  // namespace octet
