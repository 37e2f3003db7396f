// The variables that files set, and the files that variables name.
#include <gtest/gtest.h>

#include <tuple>

#include "src/cluster/environment/conf_file.h"
#include "src/cluster/environment/job_findings.h"
#include "src/cluster/environment/named_files.h"
#include "tests/data/support.h"

namespace octet {
namespace {

using test::TempFolder;
using test::write_bytes;

TEST(EffectiveEnvironment, FilesOfNcclComeBehindTheEnvironment) {
  const Environment e = effective_environment(Machine(OCTET_SOURCE_DIR "/tests/cluster/doctor/bad"));
  EXPECT_EQ(e.at("NCCL_CUMEM_ENABLE"), "0");   // of /etc/nccl.conf
  EXPECT_EQ(e.at("NCCL_IB_RETRY_CNT"), "10");  // the environment's, not the file's 7
  EXPECT_FALSE(e.contains("LD_LIBRARY_PATH"));
}

TEST(EffectiveEnvironment, NamesAndValuesOfFilesAreNotTrimmed) {
  const TempFolder folder;
  write_bytes(folder / "commands/env", "HOME=/home/u\n");
  write_bytes(folder / "home/u/.nccl.conf",
              "# a comment = 1\nNCCL_DEBUG = INFO\nNCCL_IB_TC=106\r\n\ngarbage\nNCCL_PROTO= Simple\nnccl_algo=ring\n");
  const Machine machine(folder.path());
  const Environment e = effective_environment(machine);
  EXPECT_FALSE(e.contains("NCCL_DEBUG"));
  EXPECT_EQ(e.at("NCCL_IB_TC"), "106");
  EXPECT_EQ(e.at("NCCL_PROTO"), " Simple");
  EXPECT_EQ(e.size(), 2U);
  const Findings odd = conf_file_findings(machine);
  ASSERT_EQ(odd.size(), 3U);
  EXPECT_EQ(odd[0].check, "/home/u/.nccl.conf:2");
  EXPECT_NE(odd[0].advice.find("blanks beside ="), std::string::npos);
  EXPECT_EQ(odd[1].check, "/home/u/.nccl.conf:5");
  EXPECT_NE(odd[1].advice.find("passes over it"), std::string::npos);
  EXPECT_EQ(odd[2].seen, "nccl_algo=ring");
}

TEST(FileFindings, FilesThatVariablesName) {
  const TempFolder folder;
  write_bytes(folder / "etc/topo.xml", "<system/>");
  write_bytes(folder / "opt/plugins/net.so", "");
  const Machine machine(folder.path());
  const auto found = [&](const Environment& e) { return file_findings(e, machine); };
  EXPECT_TRUE(found({{"NCCL_TOPO_FILE", "/etc/topo.xml"}}).empty());
  EXPECT_TRUE(found({{"NCCL_TOPO_FILE", "topo.xml"}}).empty());  // relative, to where the job is
  EXPECT_TRUE(found({{"NCCL_NET_PLUGIN", "none"}, {"NCCL_TUNER_PLUGIN", "libtuner.so"}}).empty());
  EXPECT_TRUE(found({{"NCCL_NET_PLUGIN", "/opt/plugins/net.so"}}).empty());
  const std::tuple<const char*, const char*, FindingState> lost[] = {
      {"NCCL_TOPO_FILE", "/nowhere.xml", FindingState::bad},
      {"NCCL_TOPO_FILE", "", FindingState::warning},
      {"NCCL_TOPO_FILE", "/etc", FindingState::bad},
      {"NCCL_GRAPH_FILE", "/nowhere.xml", FindingState::bad},
      {"NCCL_TUNER_PLUGIN", "/opt/plugins/tuner.so", FindingState::warning},
      {"NCCL_NET_PLUGIN", "/opt/plugins/net.so,/opt/other.so", FindingState::bad}};
  for (const auto& [name, value, state] : lost) {
    const Findings f = found({{name, value}});
    ASSERT_EQ(f.size(), 1U) << name << '=' << value;
    EXPECT_EQ(f[0].state, state) << name << '=' << value;
    EXPECT_EQ(f[0].seen, value);
  }
}

}  // namespace
}  // namespace octet
