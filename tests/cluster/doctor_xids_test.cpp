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

}  // namespace
}  // namespace octet
