#include "src/metrics/peak.h"

#include <gtest/gtest.h>

namespace octet {
namespace {

TEST(Peak, DenseFiguresOfTheDataSheets) {
  struct Case {
    const char* name;
    double bf16, fp8;
  };
  const Case cases[] = {{"NVIDIA H100 80GB HBM3", 989e12, 1979e12}, {"NVIDIA H100 PCIe", 756e12, 1513e12},
                        {"NVIDIA H100 NVL", 835e12, 1671e12},       {"NVIDIA H200", 989e12, 1979e12},
                        {"NVIDIA B200", 2250e12, 4500e12},          {"NVIDIA A100-SXM4-80GB", 312e12, 312e12}};
  for (const Case& c : cases) {
    const auto peak = peak_flops(c.name);
    ASSERT_TRUE(peak) << c.name;
    EXPECT_EQ(peak->bf16, c.bf16) << c.name;
    EXPECT_EQ(peak->fp8, c.fp8) << c.name;
  }
}

TEST(Peak, UnknownDevicesHaveNone) {
  EXPECT_FALSE(peak_flops("AMD EPYC 9B45"));
  EXPECT_FALSE(peak_flops(""));
  EXPECT_FALSE(mfu_percent("AMD EPYC 9B45", 1e12));
  EXPECT_FALSE(mixed_peak_percent("AMD EPYC 9B45", 1e12, 0.5));
}

TEST(Peak, TheRestOfASheet) {
  const auto h200 = gpu_sheet("NVIDIA H200");
  ASSERT_TRUE(h200);
  EXPECT_EQ(h200->memory_bandwidth, 4.8e12);
  EXPECT_EQ(h200->memory_gib, 140.4);
  EXPECT_EQ(gpu_sheet("NVIDIA H100 PCIe")->name, "H100 PCIe");
  EXPECT_EQ(gpu_sheet("H100")->nvlink_bandwidth, 450e9);
  EXPECT_FALSE(gpu_sheet("AMD EPYC 9B45"));
  EXPECT_FALSE(gpu_sheet("NVIDIA GH200 480GB")) << "another GPU";
  EXPECT_NE(known_gpus().find("H100 NVL, H100, H200"), std::string::npos);
}

TEST(Peak, MfuIsPercentOfTheBf16Peak) {
  EXPECT_DOUBLE_EQ(*mfu_percent("NVIDIA H100 80GB HBM3", 494.5e12), 50.0);
}

TEST(Peak, MixedPeakIsTheTimeOfTheMixtureAtPeak) {
  const char* h100 = "NVIDIA H100 80GB HBM3";
  EXPECT_DOUBLE_EQ(*mixed_peak_percent(h100, 989e12, 0.0), 100.0);
  EXPECT_DOUBLE_EQ(*mixed_peak_percent(h100, 1979e12, 1.0), 100.0);
  // One FLOP at 80 % fp8 takes 0.8/1979 + 0.2/989 ps; running at exactly that rate is 100 %.
  const double rate = 1e12 / (0.8 / 1979 + 0.2 / 989);
  EXPECT_NEAR(*mixed_peak_percent(h100, rate, 0.8), 100.0, 1e-9);
  EXPECT_NEAR(*mixed_peak_percent(h100, rate / 4, 0.8), 25.0, 1e-9);
}

}  // namespace
}  // namespace octet
