#include "src/train/run/stop_request.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "kernels/cpu/gemm/multiply.h"
#include "src/base/signal_thread.h"
#include "tests/data/support.h"

namespace octet {
namespace {

using test::TempFolder;

TEST(StopRequest, NothingAsksForAnEnd) {
  const StopSignal signal;
  const TempFolder folder;
  EXPECT_EQ(StopRequest(signal, WallClock(0), folder / "stop").reason(1e9), StopReason::none);
}

TEST(StopRequest, TheFirstSignalCounts) {
  for (const auto& [number, reason] : std::vector<std::pair<int, StopReason>>{
           {SIGINT, StopReason::interrupt}, {SIGTERM, StopReason::terminate}, {SIGUSR1, StopReason::user_signal}}) {
    const StopSignal signal;
    const StopRequest request(signal, WallClock(0), "");
    EXPECT_EQ(request.reason(0), StopReason::none);
    raise(number);
    raise(SIGUSR1);
    EXPECT_EQ(request.reason(0), reason);
    EXPECT_EQ(name_of(reason), number == SIGINT ? "SIGINT" : number == SIGTERM ? "SIGTERM" : "SIGUSR1");
  }
}

/// Slurm sends SIGTERM at the time limit, behind the SIGUSR1 that it sent before.
TEST(StopRequest, WhatCannotWaitIsKnownBehindTheUserSignal) {
  const StopSignal signal;
  const TempFolder folder;
  const StopRequest request(signal, WallClock(0), folder / "stop");
  EXPECT_EQ(request.urgent_reason(), StopReason::none);
  std::ofstream(folder / "stop") << "please";
  raise(SIGUSR1);
  EXPECT_EQ(request.urgent_reason(), StopReason::none) << "neither the signal nor the file";
  raise(SIGTERM);
  EXPECT_EQ(request.urgent_reason(), StopReason::user_signal);
  EXPECT_EQ(request.reason(0), StopReason::user_signal);
}

TEST(StopRequest, ALauncherMayDeliverOneRequestTwice) {
  const StopSignal signal;
  raise(SIGTERM);
  raise(SIGTERM);  // within a second: the process lives on
  EXPECT_EQ(signal.received(), SIGTERM);
}

/// Multiplies by a transposed matrix, while signals come all the time. Returns whether any of them was handled.
bool multiply_among_signals() {
  SignalThread takes_them;
  const StopSignal signal;
  takes_them.take_user_signal();
  std::atomic<bool> done = false;
  std::thread sender([&] {
    for (int i = 0; i < 1000 && !done; ++i) {
      kill(getpid(), SIGUSR1);
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
  });
  constexpr std::int64_t n = 128;
  const std::vector<float> a(n * n, 1), b(n * n, 1);
  std::vector<float> c(n * n);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  while (std::chrono::steady_clock::now() < end) {
    cpu::multiply({.a = {a.data(), n, true}, .b = {b.data(), n}, .c = c.data(), .c_stride = n, .m = n, .n = n, .k = n});
  }
  done = true;
  sender.join();
  // The last one may wait for its thread, and would end the process once the handler is gone.
  for (sigset_t waiting; sigpending(&waiting) == 0 && sigismember(&waiting, SIGUSR1) == 1;) usleep(1000);
  return signal.received() == SIGUSR1 && c == std::vector<float>(n * n, n);
}

/// A handler that runs on the thread of a GEMM overwrites the heap (src/base/signal_thread.h).
TEST(StopRequestDeathTest, SignalsDoNotDisturbGemms) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(multiply_among_signals() ? 0 : 1), testing::ExitedWithCode(0), "");
}

TEST(StopRequestDeathTest, ASecondRequestEndsTheProcessAtOnce) {
  EXPECT_EXIT(
      {
        const StopSignal signal;
        raise(SIGUSR1);
        raise(SIGTERM);
        for (int i = 0; i < 40; ++i) {  // only what comes after a second is a second request
          usleep(100'000);
          raise(SIGINT);
        }
        _exit(0);
      },
      testing::ExitedWithCode(130), "");
}

TEST(StopRequestDeathTest, TheUserSignalNeverDoes) {
  EXPECT_EXIT(
      {
        const StopSignal signal;
        raise(SIGTERM);
        for (int i = 0; i < 25; ++i) {
          usleep(100'000);
          raise(SIGUSR1);
        }
        _exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(StopRequest, WhatWasThereBeforeComesBack) {
  struct sigaction before {
  }, after{};
  sigaction(SIGUSR1, nullptr, &before);
  {
    const StopSignal signal;
    sigaction(SIGUSR1, nullptr, &after);
    EXPECT_NE(after.sa_handler, before.sa_handler);
  }
  sigaction(SIGUSR1, nullptr, &after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
}

TEST(StopRequest, AFileThatIsRemovedWhenHonoured) {
  const StopSignal signal;
  const TempFolder folder;
  const StopRequest request(signal, WallClock(0), folder / "stop");
  std::ofstream(folder / "stop").flush();
  EXPECT_EQ(request.reason(0), StopReason::stop_file);
  EXPECT_EQ(StopRequest(signal, WallClock(0), "").reason(0), StopReason::none);  // another rank does not look
  request.honoured();
  EXPECT_FALSE(std::filesystem::exists(folder / "stop"));
  EXPECT_EQ(request.reason(0), StopReason::none);
  request.honoured();  // nothing there: nothing to do
}

TEST(StopRequest, TheTimeLimitLeavesRoomForWhatComes) {
  const StopSignal signal;
  const StopRequest request(signal, WallClock(WallClock::seconds() + 1000), "");
  EXPECT_EQ(request.reason(10), StopReason::none);
  EXPECT_EQ(request.reason(1000), StopReason::wall_time);
}

TEST(StopRequest, OnlySigintHasItsOwnExitCode) {
  EXPECT_EQ(exit_code_unsaved(StopReason::interrupt), ExitCode::interrupted);
  for (const auto reason :
       {StopReason::terminate, StopReason::user_signal, StopReason::stop_file, StopReason::wall_time}) {
    EXPECT_EQ(exit_code_unsaved(reason), ExitCode::terminated);
  }
}

}  // namespace
}  // namespace octet
