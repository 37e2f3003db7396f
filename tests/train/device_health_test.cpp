// The watch on its thread, over the library that stands in for NVML.
#include "src/train/health/device_health.h"

#include <gtest/gtest.h>

#include <chrono>

#include "src/base/log.h"
#include "tests/support/nvml_values.h"

namespace octet {
namespace {

constexpr double never = 86400, patience = 60;

class DeviceHealthWatched : public testing::Test {
 protected:
  void SetUp() override { values_.set(healthy_gpu); }
  void TearDown() override { log::set_identity(0, 1, ""); }

  /// What is logged when the values have become these and a reading was asked for.
  std::string after(DeviceHealth& health, const std::vector<std::string>& changed) const {
    values_.set(healthy_gpu, changed);
    testing::internal::CaptureStderr();
    health.look_now(patience);
    return testing::internal::GetCapturedStderr();
  }

  NvmlValues values_;
};

TEST_F(DeviceHealthWatched, ChangesAreLoggedOnce) {
  testing::internal::CaptureStderr();
  DeviceHealth health(never, gpu_id, OCTET_STAND_IN_NVML);
  const std::string start = testing::internal::GetCapturedStderr();
  EXPECT_NE(start.find("GPU 0000:1B:00.0: SM 1980 MHz, memory 2619 MHz, 61 C, 640.5 W; limited by: power cap"),
            std::string::npos)
      << start;
  EXPECT_EQ(health.why_not(), "");
  EXPECT_EQ(after(health, {}), "");
  const std::string ecc = after(health, {"ecc_uncorrected 2"});
  EXPECT_NE(ecc.find("W GPU 0000:1B:00.0: ECC: 2 new uncorrected error(s), 2 since the driver"), std::string::npos)
      << ecc;
  EXPECT_EQ(after(health, {"ecc_uncorrected 2"}), "");
  const std::string xid = after(health, {"ecc_uncorrected 2", "xid 79"});
  EXPECT_NE(xid.find("W GPU 0000:1B:00.0: Xid 79 (GPU has fallen off the bus)"), std::string::npos) << xid;
  EXPECT_EQ(after(health, {"ecc_uncorrected 2", "xid 79"}), "");
}

TEST_F(DeviceHealthWatched, EveryRankSaysItsOwn) {
  for (const int rank : {0, 3}) {
    log::set_identity(rank, 8, "node-17");
    DeviceHealth health(never, gpu_id, OCTET_STAND_IN_NVML);
    const std::string prefix = fmt::format("[rank {} node-17] GPU 0000:1B:00.0: ", rank);
    const std::string hot = after(health, {"reasons 64"}), clock = after(health, {"reasons 64", "sm_mhz 1000"});
    EXPECT_NE(hot.find("W " + prefix + "clocks are slowed down: hardware thermal"), std::string::npos) << hot;
    EXPECT_NE(clock.find("I " + prefix + "SM clock 1000 MHz, before 1980"), std::string::npos) << clock;
    values_.set(healthy_gpu);
  }
}

TEST_F(DeviceHealthWatched, ReadsByItselfAndALastTime) {
  const StandInNvml library(OCTET_STAND_IN_NVML);
  testing::internal::CaptureStderr();
  {
    DeviceHealth health(0.001, gpu_id, OCTET_STAND_IN_NVML);
    const int before = library.readings();
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (library.readings() < before + 3 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    EXPECT_GE(library.readings(), before + 3);
  }
  {
    DeviceHealth health(never, gpu_id, OCTET_STAND_IN_NVML);
    values_.set(healthy_gpu, {"xid 94"});
  }
  const std::string logged = testing::internal::GetCapturedStderr();
  EXPECT_NE(logged.find("Xid 94 (contained memory error)"), std::string::npos) << logged;
  EXPECT_EQ(library.open(), 0);
}

TEST_F(DeviceHealthWatched, OffAndOnACpuNothingIsOpened) {
  const StandInNvml library(OCTET_STAND_IN_NVML);
  testing::internal::CaptureStderr();
  for (const auto& [seconds, id] : {std::pair{0.0, gpu_id}, std::pair{30.0, std::string()}}) {
    DeviceHealth health(seconds, id, OCTET_STAND_IN_NVML);
    EXPECT_FALSE(health.asked());
    EXPECT_EQ(library.open(), 0);
    health.look_now(patience);
    const auto stream = cpu_device().make_stream();
    report_unwatched(health, *make_self_communicator(*stream, "control"), "node-17");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(DeviceHealthWatched, WithoutNvmlThatIsSaid) {
  testing::internal::CaptureStderr();
  const DeviceHealth health(30, gpu_id, "libnone-ml.so.1");
  const auto stream = cpu_device().make_stream();
  report_unwatched(health, *make_self_communicator(*stream, "control"), "node-17");
  const std::string logged = testing::internal::GetCapturedStderr();
  EXPECT_NE(logged.find("W clocks, ECC and Xid of 1 of 1 GPU(s) are not watched; rank 0 on node-17: [device] "
                        "libnone-ml.so.1 cannot be loaded"),
            std::string::npos)
      << logged;
}

}  // namespace
}  // namespace octet
