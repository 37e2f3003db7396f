#include "src/train/health/health_changes.h"

#include <gtest/gtest.h>

#include "src/base/xid.h"
#include "src/device/nvml.h"

namespace octet {
namespace {

DeviceReadings healthy() {
  return {.sm_mhz = 1980,
          .memory_mhz = 2619,
          .clock_reasons = 0,
          .celsius = 61,
          .watts = 640.0,
          .ecc_corrected = 7,
          .ecc_uncorrected = 0,
          .rows = RemappedRows{.corrected = 1},
          .xids = std::vector<std::uint64_t>(),
          .unusable = ""};
}

const std::string state = "memory 2619 MHz, 61 C, 640.0 W";

/// What is logged of `now` after `before`, and, once more, of `now`: nothing may be said twice.
std::vector<HealthNote> changes(const DeviceReadings& before, const DeviceReadings& now) {
  HealthChanges health;
  health.of(before);
  std::vector<HealthNote> found = health.of(now);
  DeviceReadings again = now;
  if (again.xids) again.xids->clear();  // each is read once
  EXPECT_EQ(health.of(again), std::vector<HealthNote>());
  return found;
}
std::vector<HealthNote> first(const DeviceReadings& now) {
  return HealthChanges().of(now);
}
using Notes = std::vector<HealthNote>;

TEST(HealthChanges, AHealthyGpuIsSilent) {
  EXPECT_EQ(first(healthy()), Notes());
  EXPECT_EQ(changes(healthy(), healthy()), Notes());
  EXPECT_EQ(changes(healthy(), {}), Notes());
  EXPECT_EQ(changes({}, healthy()), Notes());
}

TEST(HealthChanges, XidsSayWhatToDo) {
  DeviceReadings now = healthy();
  now.xids = {63, 79, 4711};
  const Notes found = changes(healthy(), now);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_TRUE(found[0].warning && found[1].warning && found[2].warning);
  EXPECT_EQ(found[0].text, "Xid 63 (a row of memory is to be remapped): nothing now: the next reset remaps it");
  EXPECT_EQ(found[1].text,
            "Xid 79 (GPU has fallen off the bus): reboot the node; if it comes back, have GPU and PCIe link looked at");
  EXPECT_NE(found[2].text.find("Xid 4711 (see the catalog): look it up"), std::string::npos);
}

/// RESET_GPU, or a reset by their workflow, in NVIDIA's catalog.
TEST(HealthChanges, XidsThatNeedAReset) {
  for (const int xid : {46, 48, 62, 64, 95, 109, 119, 120, 136, 140, 143, 158}) {
    EXPECT_NE(describe_xid(static_cast<std::uint64_t>(xid)).find("end the run and reset the GPU"), std::string::npos)
        << xid;
  }
}

/// NVML tells the number alone, and the kernel's log whether it is fatal.
TEST(HealthChanges, ErrorsOfNvlinksReferToTheKernelsLog) {
  for (std::uint64_t xid = 144; xid <= 150; ++xid) {
    EXPECT_NE(describe_xid(xid).find("the kernel log says whether it is fatal"), std::string::npos) << xid;
  }
}

TEST(HealthChanges, EccCountsThatWentUp) {
  DeviceReadings now = healthy();
  now.ecc_corrected = 9;
  now.ecc_uncorrected = 1;
  EXPECT_EQ(changes(healthy(), now), (Notes{{false, "ECC: 2 new corrected error(s), 9 since the driver was loaded"},
                                            {true, "ECC: 1 new uncorrected error(s), 1 since the driver was loaded"}}));
  EXPECT_EQ(first(now), (Notes{{true, "ECC: 1 new uncorrected error(s), 1 since the driver was loaded"}}));
  EXPECT_EQ(changes(now, healthy()), Notes()) << "the driver was loaded anew";
}

TEST(HealthChanges, ACountThatWasNotReadIsNoBaseline) {
  DeviceReadings unread = healthy(), later = healthy();
  unread.ecc_corrected.reset();
  unread.rows.reset();
  later.ecc_corrected = 8;
  EXPECT_EQ(changes(unread, healthy()), Notes());
  HealthChanges health;
  health.of(healthy());
  health.of(unread);
  EXPECT_EQ(health.of(later).size(), 1u) << "against the last count that was read";
}

TEST(HealthChanges, RowsOfMemory) {
  DeviceReadings now = healthy();
  now.rows = RemappedRows{.corrected = 1, .uncorrected = 1, .pending = true};
  const Notes pending{{true,
                       "remapped rows of memory: 1 for corrected errors, 1 for uncorrected ones; more at the next "
                       "reset, which should come soon"}};
  EXPECT_EQ(changes(healthy(), now), pending);
  EXPECT_EQ(first(now), pending);
  now.rows = RemappedRows{.corrected = 1, .failure = true};
  const Notes failed = changes(healthy(), now);
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_NE(failed[0].text.find("a remapping has failed"), std::string::npos);
}

TEST(HealthChanges, SlowdownsBeginAndEnd) {
  DeviceReadings hot = healthy();
  hot.sm_mhz = 1100;
  hot.clock_reasons = clock_reasons::hardware_thermal | clock_reasons::hardware_slowdown;
  const Notes slow{
      {true, "clocks are slowed down: hardware slowdown, hardware thermal slowdown (SM 1100 MHz, " + state + ")"}};
  EXPECT_EQ(changes(healthy(), hot), slow);
  EXPECT_EQ(first(hot), slow);
  EXPECT_EQ(changes(hot, healthy()), (Notes{{false, "clocks are no longer slowed down (SM 1980 MHz, " + state + ")"}}));
  for (const std::uint64_t reason : {clock_reasons::software_thermal, clock_reasons::power_brake}) {
    hot.clock_reasons = reason;
    EXPECT_EQ(changes(healthy(), hot).at(0).warning, true) << reason;
  }
}

TEST(HealthChanges, NormalLimitsAreToldOnce) {
  DeviceReadings capped = healthy();
  capped.clock_reasons = clock_reasons::power_cap;
  HealthChanges health;
  health.of(healthy());
  EXPECT_EQ(health.of(capped), (Notes{{false, "clocks are limited: power cap (SM 1980 MHz, " + state + ")"}}));
  EXPECT_EQ(health.of(healthy()), Notes());
  EXPECT_EQ(health.of(capped), Notes());
  EXPECT_EQ(first(capped), Notes());
}

TEST(HealthChanges, ClocksATenthAwayFromTheLastLine) {
  HealthChanges health;
  const auto at = [&](std::uint32_t mhz, std::uint64_t reasons = 0) {
    DeviceReadings now = healthy();
    now.sm_mhz = mhz;
    now.clock_reasons = reasons;
    return health.of(now);
  };
  at(345, clock_reasons::idle);  // is no clock to compare with
  EXPECT_EQ(at(2000), Notes());
  EXPECT_EQ(at(1900), Notes());
  EXPECT_EQ(at(1800), Notes()) << "a tenth, not more";
  EXPECT_EQ(at(345, clock_reasons::idle), Notes());
  EXPECT_EQ(at(1799),
            (Notes{{false, "SM clock 1799 MHz, before 2000 MHz (SM 1799 MHz, " + state + "; limited by: none)"}}));
  EXPECT_EQ(at(1700), Notes());
  EXPECT_EQ(at(1978).size(), 0u);
  EXPECT_EQ(at(1979).size(), 1u);
}

TEST(HealthChanges, AGpuThatIsLostAndComesBack) {
  DeviceReadings lost;
  lost.unusable = "GPU is lost";
  EXPECT_EQ(changes(healthy(), lost), (Notes{{true, "NVML cannot use the GPU: GPU is lost"}}));
  EXPECT_EQ(changes(lost, healthy()), (Notes{{false, "NVML can use the GPU again"}}));
}

TEST(HealthChanges, ALineOfAllReadings) {
  EXPECT_EQ(describe(healthy()),
            "SM 1980 MHz, memory 2619 MHz, 61 C, 640.0 W; limited by: none; ECC errors since the driver was loaded: 7 "
            "corrected, 0 uncorrected; remapped rows of memory: 1 for corrected errors, 0 for uncorrected ones; Xids "
            "are watched");
  EXPECT_EQ(describe(DeviceReadings{}),
            "no readings of clocks; not told by NVML: clock reasons, ECC counts, remapped rows, Xids");
}

}  // namespace
}  // namespace octet
