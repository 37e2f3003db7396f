#include "src/comm/mpi/crash_signals.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <string>

namespace octet {
namespace {

/// Says whether a crash by that signal is UCX's to handle.
bool is_of_ucx(int signal) {
  struct sigaction action {};
  Dl_info where{};
  if (sigaction(signal, nullptr, &action) != 0 || (action.sa_flags & SA_SIGINFO) == 0) return false;
  if (dladdr(reinterpret_cast<void*>(action.sa_sigaction), &where) == 0) return false;
  return std::string(where.dli_fname).find("libucs") != std::string::npos;
}

TEST(CrashSignals, AreLeftToTheSystemUnlessTheUserSaysOtherwise) {
  const bool said = std::getenv("UCX_HANDLE_ERRORS") != nullptr || std::getenv("UCX_ERROR_SIGNALS") != nullptr;
  if (said) GTEST_SKIP() << "the environment says what UCX does with a crash";
  const bool before = is_of_ucx(SIGSEGV);  // false where MPI is not over UCX
  for (const char* variable : {"UCX_HANDLE_ERRORS", "UCX_ERROR_SIGNALS"}) {
    setenv(variable, variable == std::string("UCX_HANDLE_ERRORS") ? "bt" : "SIGSEGV", 1);
    leave_crashes_to_the_system();
    EXPECT_EQ(is_of_ucx(SIGSEGV), before) << variable;
    unsetenv(variable);
  }
  leave_crashes_to_the_system();
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) EXPECT_FALSE(is_of_ucx(signal)) << signal;
  if (before) {
    EXPECT_EQ(std::getenv("UCX_HANDLE_ERRORS"), nullptr) << "UCX would warn of it";
  }
  unsetenv("UCX_HANDLE_ERRORS");
}

}  // namespace
}  // namespace octet
