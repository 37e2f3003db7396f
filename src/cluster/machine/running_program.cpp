#include "src/cluster/machine/running_program.h"

#include <unistd.h>

#include <array>
#include <utility>

#include "src/base/files.h"

namespace octet {
namespace {

constexpr std::array ending_signals = {SIGINT, SIGTERM, SIGHUP};

// What a handler may read, whichever thread it is on. A group of 0 is none.
std::array<std::atomic<pid_t>, 64> running_groups{};
std::atomic<const std::string*> last_words = nullptr;
static_assert(std::atomic<pid_t>::is_always_lock_free && std::atomic<const std::string*>::is_always_lock_free);

sigset_t set_of_ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : ending_signals) sigaddset(&set, signal);
  return set;
}

void end_programs(int signal) {
  for (const std::atomic<pid_t>& group : running_groups) {
    if (const pid_t id = group; id != 0) kill(-id, SIGTERM);
  }
  if (const std::string* text = last_words) {
    [[maybe_unused]] const bool told = write_all(STDERR_FILENO, *text);
  }
  raise(signal);  // it waits for the end of this handler, and then ends the process
}

}  // namespace

void end_programs_with_us() {
  struct sigaction action {};
  action.sa_handler = end_programs;
  action.sa_mask = set_of_ending_signals();
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : ending_signals) {
    struct sigaction before {};
    const bool known = sigaction(signal, nullptr, &before) == 0;
    if (known && (before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler == SIG_DFL) {
      sigaction(signal, &action, nullptr);
    }
  }
}

HeldSignals::HeldSignals() {
  const sigset_t held = set_of_ending_signals();
  pthread_sigmask(SIG_BLOCK, &held, &before_);
}

void HeldSignals::release() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

RunningProgram::RunningProgram(pid_t group) {
  for (std::atomic<pid_t>& place : running_groups) {
    pid_t none = 0;
    if (!place.compare_exchange_strong(none, group)) continue;
    noted_ = &place;
    return;
  }
}

RunningProgram::~RunningProgram() {
  if (noted_ != nullptr) *noted_ = 0;
}

LastWords::LastWords(std::string text) : text_(std::move(text)) {
  last_words = &text_;
}

LastWords::~LastWords() {
  last_words = nullptr;
}

}  // namespace octet
