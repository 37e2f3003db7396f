// Where the doctor finds NCCL, and what it makes of its version.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>

#include "src/cluster/doctor/nccl_library.h"
#include "tests/cluster/doctor_support.h"

namespace octet {
namespace {

using test::Changed;
using test::examine_snapshot;
using test::expected_node;
using test::fixtures;
using test::lines_of_check;

TEST(Doctor, NcclsVersionIsFoundAcrossBlocksOfTheFile) {
  const std::string text = "NCCL version 2.27.7+cuda12.9";
  for (const std::size_t before : {(std::size_t{1} << 22) - 5, (std::size_t{1} << 22) - 20, std::size_t{0}}) {
    Changed node;
    node.with("opt/nccl/lib/libnccl.so.2", std::string(before, '.') + text + std::string(100, '.'));
    EXPECT_EQ(find_nccl(Machine(node.folder().path())).version, "2.27.7") << before;
  }
}

/// As where nobody is root and pip installed it.
TEST(Doctor, NcclIsFoundWhereOctetTrainFindsIt) {
  const std::string text = "NCCL version 2.28.9+cuda13.0" + std::string(100, '.');
  const std::pair<const char*, const char*> places[] = {
      {"CUDA_HOME=/opt/cuda\n", "/opt/cuda/lib64/"},
      {"PYTHONPATH=/opt/other:/opt/python\n", "/opt/python/nvidia/nccl/lib/"},
      {"VIRTUAL_ENV=/home/me/venv\n", "/home/me/venv/lib/python3.11/site-packages/nvidia/nccl/lib/"},
      {"PATH=/bin:/usr/bin\n", "/usr/lib/python3/dist-packages/nvidia/nccl/lib/"}};
  const ClusterProfile profile = expected_node();
  for (const auto& [environment, folder] : places) {
    Changed node;
    node.without("opt/nccl").with("commands/env", environment).with("usr/bin/python3", "");
    EXPECT_EQ(find_nccl(Machine(node.folder().path())).path, "") << environment;
    node.with(std::string(folder).substr(1) + "libnccl.so.2", text);
    EXPECT_EQ(find_nccl(Machine(node.folder().path())).path, std::string(folder) + "libnccl.so.2");
    EXPECT_EQ(node.check("versions.nccl", &profile), "ok: 2.28.9\n") << environment;
  }
}

TEST(Doctor, TheHostNeedsNoNcclWhereTheTrainingIsInAContainer) {
  ClusterProfile profile = expected_node();
  Changed node;
  node.without("opt/nccl");
  EXPECT_EQ(node.check("versions.nccl", &profile), "bad: libnccl.so.2 is not there\n");
  profile.software.container = {"apptainer", "exec", "image"};
  EXPECT_EQ(node.check("versions.nccl", &profile), "warning: libnccl.so.2 is not there\n");
  const Findings bad = examine_snapshot(fixtures + "bad", &profile);
  EXPECT_TRUE(lines_of_check(bad, "versions.nccl").starts_with("warning: 2.28.5: "));
  // The driver is the host's.
  EXPECT_TRUE(node.without("commands/nvidia-smi-compute").check("versions.driver", &profile).starts_with("bad: "));
}

}  // namespace
}  // namespace octet
