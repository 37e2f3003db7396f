// The variables that files set, and the files that variables name.
#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include "src/cluster/environment/conf_file.h"
#include "src/cluster/environment/job_findings.h"
#include "src/cluster/environment/named_files.h"
#include "tests/data/support.h"

namespace octet {
namespace {

using test::TempFolder;
using test::write_bytes;

TEST(EffectiveEnvironment, FilesOfNcclComeBehindTheEnvironment) {
  const InheritedVariables all = inherited_variables(Machine(OCTET_SOURCE_DIR "/tests/cluster/doctor/bad"));
  const Environment e = effective_environment(all);
  EXPECT_EQ(e.at("NCCL_CUMEM_ENABLE"), "0");   // of /etc/nccl.conf
  EXPECT_EQ(e.at("NCCL_IB_RETRY_CNT"), "10");  // the environment's, not the file's 7
  EXPECT_FALSE(e.contains("LD_LIBRARY_PATH"));
  EXPECT_EQ(file_of(all, "NCCL_CUMEM_ENABLE"), "/etc/nccl.conf");
  EXPECT_EQ(file_of(all, "NCCL_IB_RETRY_CNT"), "");
  EXPECT_EQ(file_of(all, "NCCL_DEBUG"), "");
  // Without the variable NCCL goes on to the file.
  EXPECT_EQ(effective_environment(all, {"NCCL_IB_RETRY_CNT"}).at("NCCL_IB_RETRY_CNT"), "7");
  EXPECT_EQ(file_of(all, "NCCL_IB_RETRY_CNT", {"NCCL_IB_RETRY_CNT"}), "/etc/nccl.conf");
}

/// NCCL goes by the account's home up to 2.29, and by HOME from 2.30 on.
TEST(ConfFiles, TheAccountsHomeCountsBesideHome) {
  const passwd* account = ::getpwuid(::getuid());
  ASSERT_NE(account, nullptr);
  const std::string of_account = std::string(account->pw_dir) + "/.nccl.conf";
  const char* const before = std::getenv("HOME");
  const std::string home = before == nullptr ? "" : before;
  const auto files = [](const std::string& value) {
    ::setenv("HOME", value.c_str(), 1);
    return conf_files(Machine());
  };
  using Files = std::vector<std::string>;
  EXPECT_EQ(files("/of/a/script"), (Files{of_account, "/of/a/script/.nccl.conf", "/etc/nccl.conf"}));
  EXPECT_EQ(files(account->pw_dir), (Files{of_account, "/etc/nccl.conf"}));
  EXPECT_EQ(files(""), (Files{of_account, "/etc/nccl.conf"}));
  ::setenv("NCCL_CONF_FILE", "/own.conf", 1);
  EXPECT_EQ(files("/of/a/script"), (Files{"/own.conf", "/etc/nccl.conf"}));
  ::unsetenv("NCCL_CONF_FILE");
  ::setenv("HOME", home.c_str(), 1);
}

TEST(EffectiveEnvironment, NamesAndValuesOfFilesAreNotTrimmed) {
  const TempFolder folder;
  write_bytes(folder / "commands/env", "HOME=/home/u\n");
  write_bytes(folder / "home/u/.nccl.conf",
              "# a comment = 1\nNCCL_DEBUG = INFO\nNCCL_IB_TC=106\r\n\ngarbage\nNCCL_PROTO= Simple\nnccl_algo=ring\n");
  const Machine machine(folder.path());
  const Environment e = effective_environment(inherited_variables(machine));
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

/// As Azure's image of ND H100 v5 has them (azhpc-images, components/customizations/ndv5.sh).
TEST(InheritedFindings, WhatTheNodesFilesSayIsNotTheShells) {
  const TempFolder folder;
  write_bytes(folder / "etc/nccl.conf",
              "NCCL_IB_PCI_RELAXED_ORDERING=1\nNCCL_TOPO_FILE=/opt/microsoft/ndv5/topo.xml\nNCCL_ALGO=Tree\n");
  write_bytes(folder / "commands/env", "NCCL_IB_SL=1\nNCCL_CROSS_NIC=1\n");
  const InheritedVariables inherited = inherited_variables(Machine(folder.path()));
  ClusterProfile profile = read_profile("ibm-infiniband");
  const auto about = [&](const std::string& name) {
    std::string out;
    for (const Finding& f : inherited_findings(inherited, "2.28.9", profile, "/run")) {
      if (f.check == name) out += fmt::format("{}: {}: {}\n", name_of(f.state), f.seen, f.advice);
    }
    return out;
  };
  EXPECT_HAS(about("NCCL_IB_SL"), "warning: 1: ");
  EXPECT_HAS(about("NCCL_IB_SL"), "the job of ibm-infiniband does not set it: unset it");
  const std::string topology = about("NCCL_TOPO_FILE");
  EXPECT_HAS(topology, "ok: /opt/microsoft/ndv5/topo.xml: ");
  EXPECT_HAS(topology, "; this value is of /etc/nccl.conf: a job has what that file says on its nodes\n");
  EXPECT_EQ(topology.find("unset it"), std::string::npos) << topology;
  EXPECT_HAS(about("NCCL_ALGO"), "bad: Tree: ");

  // Submitting tells of what is not ok there, and says whose it is.
  const std::vector<std::string> told = environment_findings(profile, "/run", inherited);
  ASSERT_EQ(told.size(), 4U);
  EXPECT_HAS(told[0], "NCCL reads a file of settings: NCCL_ALGO = Tree: bad: ");
  EXPECT_HAS(told[2], "the job inherits a variable of this shell: NCCL_CROSS_NIC = 1");
  EXPECT_HAS(told[3], "the job inherits a variable of this shell: NCCL_IB_SL = 1");

  // A profile takes a variable away from the shell alone.
  profile.environment.variables = {{.name = "NCCL_TOPO_FILE", .value = "", .reason = "old", .unset = true},
                                   {.name = "NCCL_CROSS_NIC", .value = "", .reason = "old", .unset = true}};
  EXPECT_HAS(about("NCCL_TOPO_FILE"), "warning: /opt/microsoft/ndv5/topo.xml: ");
  EXPECT_HAS(about("NCCL_TOPO_FILE"), "also where environment.variables unsets it: write a value there\n");
  EXPECT_EQ(about("NCCL_CROSS_NIC"), "");
  profile.environment.variables = {{"NCCL_TOPO_FILE", "/topo.xml", "ours"}};
  EXPECT_EQ(about("NCCL_TOPO_FILE"), "");
}

/// Neither octet nor a container's runtime brings the host's /etc/nccl.conf into the container.
TEST(InheritedFindings, WhatTheHostsFilesSayATrainingInAContainerNeedNotHave) {
  const TempFolder folder;
  write_bytes(folder / "etc/nccl.conf", "NCCL_IB_PCI_RELAXED_ORDERING=1\n");
  ClusterProfile profile = read_profile("ibm-infiniband");
  const auto found = [&] {
    std::string out;
    for (const Finding& f :
         inherited_findings(inherited_variables(Machine(folder.path()), &profile), "2.28.9", profile, "/run")) {
      out += fmt::format("{}: {}\n", name_of(f.state), f.advice);
    }
    return out;
  };
  const std::string on_nodes = "; this value is of /etc/nccl.conf: a job has what that file says on its nodes\n";
  const std::string of_host =
      "; this value is of /etc/nccl.conf of this host: training in a container has it only if the image or a mount "
      "brings that file";
  EXPECT_TRUE(found().starts_with("ok: ")) << found();
  EXPECT_HAS(found(), on_nodes);
  profile.container.image = "/images/octet.sqsh";
  EXPECT_TRUE(found().starts_with("warning: ")) << found();
  EXPECT_HAS(found(), of_host + "; write it into environment.variables\n");
  EXPECT_EQ(environment_findings(profile, "/run", inherited_variables(Machine(folder.path()), &profile)).size(), 1U);

  // As a step octet is in the image's container itself, and on the host where the profile says how to start one.
  write_bytes(folder / "commands/env", "SLURM_STEP_ID=0\n");
  EXPECT_TRUE(found().starts_with("ok: ")) << found();
  EXPECT_HAS(found(), on_nodes);
  profile.container.image = "";
  profile.software.container = {"apptainer", "exec", "octet.sif"};
  EXPECT_TRUE(found().starts_with("warning: ")) << found();
  EXPECT_HAS(found(), of_host + "; write it into environment.variables\n");
  profile.environment.variables = {
      {.name = "NCCL_IB_PCI_RELAXED_ORDERING", .value = "", .reason = "old", .unset = true}};
  EXPECT_HAS(found(), of_host + ", also where environment.variables unsets it: write a value there\n");
}

/// The job's NCCL_CONF_FILE may be another than the shell's, or none.
TEST(InheritedFindings, TheFileIsReadThatTheJobNames) {
  const TempFolder folder;
  write_bytes(folder / "commands/env", "HOME=/home/u\nNCCL_CONF_FILE=/shell.conf\n");
  write_bytes(folder / "shell.conf", "NCCL_IB_QPS=4\nof the shell\n");
  write_bytes(folder / "jobs.conf", "NCCL_IB_SL=1\nof the job\n");
  write_bytes(folder / "home/u/.nccl.conf", "NCCL_IB_DISABLE=1\nof the home\n");
  const Machine machine(folder.path());
  ClusterProfile profile = read_profile("ibm-infiniband");
  const auto read = [&] {
    std::string out;
    for (const auto& [name, one] : inherited_variables(machine, &profile).files) out += name + " " + one.file + "\n";
    for (const Finding& f : conf_file_findings(machine, own_conf_file(&profile))) out += f.seen + "\n";
    return out;
  };
  EXPECT_EQ(read(), "NCCL_IB_QPS /shell.conf\nof the shell\n");
  profile.environment.variables = {{"NCCL_CONF_FILE", "/jobs.conf", "ours"}};
  EXPECT_EQ(read(), "NCCL_IB_SL /jobs.conf\nof the job\n");
  profile.environment.variables = {{.name = "NCCL_CONF_FILE", .value = "", .reason = "old", .unset = true}};
  EXPECT_EQ(read(), "NCCL_IB_DISABLE /home/u/.nccl.conf\nof the home\n");
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
