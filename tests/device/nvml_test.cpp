// The reader against a library that stands in for NVML, loaded as the real one is.
#include "src/device/nvml.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "src/base/error.h"
#include "src/device/device.h"
#include "tests/support/nvml_values.h"

namespace octet {
namespace {

class Nvml : public testing::Test {
 protected:
  static std::string why_not(const std::string& id, const std::string& library = OCTET_STAND_IN_NVML) {
    try {
      NvmlDevice device(id, library);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ExitCode::usage);
      return e.what();
    }
    return "";
  }

  NvmlValues values_;
};

TEST_F(Nvml, EveryReading) {
  values_.set(healthy_gpu);
  NvmlDevice device(gpu_id, OCTET_STAND_IN_NVML);
  const DeviceReadings now = device.read();
  EXPECT_EQ(now.sm_mhz, 1980u);
  EXPECT_EQ(now.memory_mhz, 2619u);
  EXPECT_EQ(now.clock_reasons, clock_reasons::power_cap);
  EXPECT_EQ(now.celsius, 61u);
  EXPECT_EQ(now.watts, 640.5);
  EXPECT_EQ(now.ecc_corrected, 7u);
  EXPECT_EQ(now.ecc_uncorrected, 0u);
  EXPECT_EQ(now.rows, (RemappedRows{.corrected = 1, .uncorrected = 2, .pending = false, .failure = false}));
  EXPECT_EQ(now.xids, std::vector<std::uint64_t>());
  EXPECT_EQ(now.unusable, "");
}

TEST_F(Nvml, ReadsAnewEachTime) {
  values_.set(healthy_gpu);
  NvmlDevice device(gpu_id, OCTET_STAND_IN_NVML);
  device.read();
  values_.set(healthy_gpu, {"sm_mhz 1200", "ecc_uncorrected 18446744073709551615", "rows 1 2 1 1"});
  const DeviceReadings now = device.read();
  EXPECT_EQ(now.sm_mhz, 1200u);
  EXPECT_EQ(now.ecc_uncorrected, UINT64_MAX);
  EXPECT_EQ(now.rows, (RemappedRows{.corrected = 1, .uncorrected = 2, .pending = true, .failure = true}));
}

TEST_F(Nvml, WhatIsNotSupportedIsAbsent) {
  values_.set({fmt::format("pci {}", gpu_id), "no_events 1", "celsius !999"});
  NvmlDevice device(gpu_id, OCTET_STAND_IN_NVML);
  const DeviceReadings now = device.read();
  EXPECT_FALSE(now.sm_mhz || now.memory_mhz || now.clock_reasons || now.celsius || now.watts);
  EXPECT_FALSE(now.ecc_corrected || now.ecc_uncorrected || now.rows || now.xids);
  EXPECT_EQ(now.unusable, "");
}

TEST_F(Nvml, ADriverWithoutLaterFunctions) {
  values_.set(healthy_gpu);
  NvmlDevice device(gpu_id, OCTET_STAND_IN_OLD_NVML);
  const DeviceReadings now = device.read();
  EXPECT_EQ(now.sm_mhz, 1980u);
  EXPECT_EQ(now.clock_reasons, clock_reasons::power_cap);  // by the function's former name
  EXPECT_EQ(now.ecc_corrected, 7u);
  EXPECT_FALSE(now.rows || now.xids);
}

TEST_F(Nvml, XidsSinceTheLastReadingInOrder) {
  values_.set(healthy_gpu, {"xid 13"});
  NvmlDevice device(gpu_id, OCTET_STAND_IN_NVML);  // what was before is of another run
  EXPECT_EQ(device.read().xids, std::vector<std::uint64_t>());
  values_.set(healthy_gpu, {"xid 13", "xid 63", "xid 94"});
  EXPECT_EQ(device.read().xids, (std::vector<std::uint64_t>{63, 94}));
  EXPECT_EQ(device.read().xids, std::vector<std::uint64_t>());
}

TEST_F(Nvml, AReadingEndsWhereXidsDoNot) {
  values_.set(healthy_gpu);
  NvmlDevice device(gpu_id, OCTET_STAND_IN_NVML);
  values_.set(healthy_gpu, std::vector<std::string>(150, "xid 94"));
  EXPECT_EQ(device.read().xids->size(), 100u);
  EXPECT_EQ(device.read().xids->size(), 50u);
}

TEST_F(Nvml, AGpuThatIsLost) {
  values_.set(healthy_gpu);
  NvmlDevice device(gpu_id, OCTET_STAND_IN_NVML);
  values_.set(healthy_gpu, {"sm_mhz !15"});
  DeviceReadings now = device.read();
  EXPECT_EQ(now.unusable, "GPU is lost");
  EXPECT_FALSE(now.sm_mhz);
  values_.set(healthy_gpu, {"events !16"});
  EXPECT_EQ(device.read().unusable, "GPU requires reset");
  values_.set(healthy_gpu);
  EXPECT_EQ(device.read().unusable, "");
}

TEST_F(Nvml, SaysWhyItCannotRead) {
  values_.set(healthy_gpu);
  EXPECT_EQ(why_not("0000:FF:00.0"), "[device] NVML finds no GPU at PCI bus id 0000:FF:00.0: Not Found");
  EXPECT_NE(why_not(gpu_id, "libnone-ml.so.1").find("libnone-ml.so.1 cannot be loaded"), std::string::npos);
  const std::string other = why_not(gpu_id, "libm.so.6");
  EXPECT_NE(other.find("libm.so.6 has no nvmlInit_v2: too old"), std::string::npos) << other;
  values_.set({"init !9"});
  EXPECT_EQ(why_not(gpu_id), "[device] NVML does not start: Driver Not Loaded");
}

TEST_F(Nvml, LeavesNothingOpen) {
  const StandInNvml library(OCTET_STAND_IN_NVML);
  values_.set(healthy_gpu);
  {
    NvmlDevice device(gpu_id, OCTET_STAND_IN_NVML);
    EXPECT_EQ(library.open(), 2);  // a session, a set of events
  }
  EXPECT_EQ(library.open(), 0);
  EXPECT_NE(why_not("0000:FF:00.0"), "");
  EXPECT_EQ(library.open(), 0);
}

/// A library that is loaded already is found by its own name: so the name and no path is what is asked for.
TEST_F(Nvml, IsFoundByTheNameOfTheDriversLibrary) {
  void* const real = dlopen(NvmlDevice::library_name, RTLD_NOW | RTLD_NOLOAD);
  if (real != nullptr) GTEST_SKIP() << "this process has loaded the driver's own";
  const StandInNvml library(OCTET_STAND_IN_NVML);
  values_.set(healthy_gpu);
  NvmlDevice device(gpu_id);
  EXPECT_EQ(device.read().sm_mhz, 1980u);
}

TEST(ClockReasons, HaveNames) {
  EXPECT_EQ(clock_reasons::names(0), "none");
  EXPECT_EQ(clock_reasons::names(0x4 | 0x40), "power cap, hardware thermal slowdown");
  EXPECT_EQ(clock_reasons::names(0x80 | 0x400 | 0x800), "hardware power brake, reason 0xc00");
}

TEST(PciBusId, ACpuHasNone) {
  EXPECT_EQ(cpu_device().pci_bus_id(), "");
}

}  // namespace
}  // namespace octet
