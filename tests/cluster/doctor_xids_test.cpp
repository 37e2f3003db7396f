#include <gtest/gtest.h>

#include "tests/cluster/doctor_support.h"

namespace octet {
namespace {

using test::Changed;

/// What gpu.xid says of a node whose kernel has this log.
std::string seen_in(const std::string& log) {
  return Changed().with("commands/dmesg", log).check("gpu.xid", nullptr);
}

// Lines as leptonai/gpud has them: components/accelerator/nvidia/sxid/README.md.
TEST(Doctor, AnNvswitchSaysItselfWhetherItsErrorIsFatal) {
  const std::string fatal =
      "[6781753.400584] nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Fatal, Link 48 LTSSM Fault Up\n"
      "[6781753.400590] nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Severity 5 Engine instance 48\n"
      "[6781753.400596] nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Data {0x50610002, 0x10100030}\n";
  EXPECT_EQ(seen_in(fatal), "bad: SXid 20034, error of an NVSwitch: Fatal, on 0000:06:00.0 (1x)\n");
  const std::string other = "[1.5] nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 28006, Non-fatal, Link 46 MC TS\n";
  EXPECT_EQ(seen_in(other), "warning: SXid 28006, error of an NVSwitch: Non-fatal, on 0000:05:00.0 (1x)\n");
  EXPECT_EQ(seen_in("[2.0] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n" + fatal + fatal),
            "bad: SXid 20034, error of an NVSwitch: Fatal, on 0000:06:00.0 (2x)\n"
            "bad: Xid 79, GPU has fallen off the bus, on 0000:3b:00 (1x)\n");
}

// The lines of 149 and 145 are of the tests of leptonai/gpud (components/accelerator/nvidia/xid/health_state_test.go).
TEST(Doctor, TheKernelsLogSaysWhichErrorsOfNvlinksAreFatal) {
  const std::string fatal =
      "[9.1] NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 09 (0x025525c6 0x00000000)\n";
  const std::string other = "[9.2] NVRM: Xid (PCI:0009:01:00): 145, RLW_CTRL Nonfatal XC1 i0 Link -1 (0x00000000)\n";
  EXPECT_EQ(seen_in(fatal), "bad: Xid 149, NVLink error (NETIR): Fatal, on 0018:01:00 (1x)\n");
  EXPECT_EQ(seen_in(other), "warning: Xid 145, NVLink error (RLW): Nonfatal, on 0009:01:00 (1x)\n");
  EXPECT_EQ(seen_in("[9.3] NVRM: Xid (PCI:0009:01:00): 144, SAW_MVB\n"),
            "warning: Xid 144, NVLink error (SAW), on 0009:01:00 (1x)\n");
}

// The form is that of NVIDIA/open-gpu-kernel-modules, issue 1134.
TEST(Doctor, TheLastRecoveryThatAGpuAsksForCounts) {
  const std::string one = "[5.0] NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from ";
  const std::string reboot = one + "0x0 (None) to 0x2 (Node Reboot Required)\n";
  const std::string named = "Xid 154, the recovery that the GPU needs has changed: ";
  EXPECT_EQ(seen_in(reboot), "bad: " + named + "Node Reboot Required, on 0000:3b:00 (1x)\n");
  EXPECT_EQ(seen_in(one + "0x0 (None) to 0x1 (GPU Reset Required)\n" + reboot),
            "bad: " + named + "Node Reboot Required, on 0000:3b:00 (1x)\n");
  EXPECT_EQ(seen_in(reboot + one + "0x2 (Node Reboot Required) to 0x0 (None)\n"),
            "ok: " + named + "None, on 0000:3b:00 (1x): the GPU is well\n");
  const std::string another = "[6.0] NVRM: Xid (PCI:0000:5d:00): 154, GPU recovery action changed from ";
  EXPECT_EQ(seen_in(reboot + another + "0x1 (GPU Reset Required) to 0x0 (None)\n"),
            "bad: " + named + "Node Reboot Required, on 0000:3b:00 (1x)\n" + "ok: " + named +
                "None, on 0000:5d:00 (1x): the GPU is well\n");
  EXPECT_EQ(seen_in("[7.0] NVRM: Xid (PCI:0000:3b:00): 154, cut off\n"),
            "warning: Xid 154, the recovery that the GPU needs has changed, on 0000:3b:00 (1x)\n");
}

}  // namespace
}  // namespace octet
