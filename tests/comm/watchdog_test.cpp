#include "src/comm/watchdog.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

#include "src/base/error.h"
#include "src/base/log.h"
#include "src/comm/communicator.h"
#include "src/comm/mpi/mpi_communicator.h"
#include "src/comm/operation.h"
#include "src/data/mapped_file.h"
#include "src/profile/scopes.h"

namespace octet {
namespace {

using std::chrono::milliseconds;

TEST(Watchdog, NamesTheOperation) {
  const UnitScope unit("layers.3");
  EXPECT_EQ(OperationScope("all_gather", "dp_shard", 4096).text(),
            "all_gather of 4096 bytes in group dp_shard for unit layers.3");
  EXPECT_EQ(OperationScope("read of train.bin").text(), "read of train.bin for unit layers.3");
}

/// As a rank whose peer was stopped: the collective that it launched never ends on the device.
TEST(Watchdog, AWaitForTheDeviceEndsAtTheDeadline) {
  struct Never final : Event {
    bool complete() const override { return false; }
    void synchronize() const override { FAIL() << "blocks"; }
  };
  const Watchdog watchdog({.start = 0.1, .step = 0.1}, 60);
  const OperationScope operation("wait for the device");
  try {
    await(Never(), operation);
    FAIL() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::lost_peer);
    EXPECT_NE(std::string(e.what()).find("wait for the device has not completed within 0.1 s"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find(": the device hangs, or another rank has ended"), std::string::npos);
  }
  const auto done = cpu_device().make_event();
  EXPECT_NO_THROW(await(*done, operation)) << "what is done is not late";
}

/// A token file that is cut off under a run, read by the main thread.
TEST(Watchdog, APageThatCannotBeReadEndsTheProcessWithTheFilesName) {
  const std::string folder = (std::filesystem::temp_directory_path() / fmt::format("octet-page-{}", getpid())).string();
  std::filesystem::create_directories(folder);
  const std::string path = folder + "/docs.bin", reason = folder + "/reason";
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::ofstream(path) << std::string(2 * page, 'x');
  const pid_t child = fork();
  if (child == 0) {
    setenv("OCTET_FAILURE_FILE", reason.c_str(), 1);
    const Watchdog watchdog({.start = 60, .step = 0.2});
    const MappedFile file(path);
    std::filesystem::resize_file(path, page);
    [[maybe_unused]] const volatile std::uint8_t byte = file.bytes()[page];
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 70);
  std::string told;
  std::getline(std::ifstream(reason), told);
  EXPECT_EQ(told.rfind(fmt::format("70 rank 0 on {}: [data] {}: a page of it cannot be read", log::host(), path), 0),
            0u)
      << told;
  std::filesystem::remove_all(folder);
}

TEST(Watchdog, WithoutOneThereIsNoDeadline) {
  const OperationScope operation("barrier", "world");
  std::this_thread::sleep_for(milliseconds(5));
  EXPECT_NO_THROW(operation.check_deadline());
}

TEST(Watchdog, ADeadlineThatPassedThrowsLostPeerWithTheName) {
  const Watchdog watchdog({.start = 0.02, .step = 600});
  const OperationScope operation("all_to_all", "ep", 8);
  std::this_thread::sleep_for(milliseconds(40));
  try {
    operation.check_deadline();
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::lost_peer);
    const std::string text = e.what();
    EXPECT_NE(text.find("all_to_all of 8 bytes in group ep"), std::string::npos) << text;
    EXPECT_NE(text.find("0.02 s in phase start (comm.start_timeout_seconds)"), std::string::npos) << text;
  }
}

TEST(Watchdog, EveryPhaseHasItsOwnLimit) {
  const Watchdog watchdog({.start = 600, .step = 0.02});
  const OperationScope first("barrier");
  const RunPhaseScope phase(RunPhase::step);
  const OperationScope operation("barrier");
  {
    const RunPhaseScope again(RunPhase::start);
    const OperationScope inner("barrier");
    std::this_thread::sleep_for(milliseconds(40));
    EXPECT_NO_THROW(inner.check_deadline());
  }
  {
    const RunPhaseScope files(RunPhase::checkpoint);
    const OperationScope inner("all_reduce");
    std::this_thread::sleep_for(milliseconds(40));
    EXPECT_NO_THROW(inner.check_deadline());
  }
  EXPECT_NO_THROW(first.check_deadline());  // the phase in which it began counts
  try {
    operation.check_deadline();
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("0.02 s in phase step (comm.timeout_seconds)"), std::string::npos) << e.what();
  }
}

/// Together they take longer than one of them may.
TEST(Watchdog, EveryOperationHasADeadlineOfItsOwn) {
  const Watchdog watchdog({.start = 1, .step = 600});
  for (int i = 0; i < 6; ++i) {
    const OperationScope operation("barrier");
    const auto end = std::chrono::steady_clock::now() + milliseconds(200);
    while (std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(milliseconds(10));
      ASSERT_NO_THROW(operation.check_deadline()) << i;
    }
  }
}

TEST(Watchdog, ABadDeadlineIsRefused) {
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(Watchdog({.start = bad, .step = 1.0}), Error);
    EXPECT_THROW(Watchdog({.start = 1.0, .step = bad}), Error);
    EXPECT_THROW(Watchdog({.start = 1.0, .step = 1.0, .checkpoint = bad}), Error);
  }
  const double forever = std::numeric_limits<double>::infinity();
  const Watchdog watchdog({.start = forever, .step = forever});
}

TEST(Watchdog, ACollectiveThatNobodyJoinsGivesUp) {
  const auto stream = cpu_device().make_stream();
  const auto comm = make_mpi_communicator(*stream, "world");
  if (comm->size() == 1) GTEST_SKIP() << "needs two ranks";
  // A message that nobody sends yet; when it comes it goes to the request that was given up, so all ends in order.
  static float late = 0;
  if (comm->rank() == 0) {
    const Watchdog watchdog({.start = 0.05, .step = 0.05});
    try {
      comm->recv(&late, 1, DType::f32, 1);
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ExitCode::lost_peer);
      EXPECT_NE(std::string(e.what()).find("recv of 4 bytes in group world"), std::string::npos) << e.what();
    }
  }
  comm->split(0, 0, "again")->barrier();
  const float x = 1;
  if (comm->rank() == 1) comm->send(&x, 1, DType::f32, 0);
}

}  // namespace
}  // namespace octet
