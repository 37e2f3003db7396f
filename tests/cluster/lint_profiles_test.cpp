// What lint says of variables on a cluster whose profile it has.
#include <gtest/gtest.h>

#include <algorithm>

#include "src/base/installation.h"
#include "src/base/options/text.h"
#include "src/cluster/environment/job_environment.h"
#include "src/cluster/environment/job_findings.h"
#include "tests/cluster/lint_support.h"

namespace octet {
namespace {

using test::one;
using test::table;

TEST(Lint, WhatHasNoEffectOnAFabricIsSaid) {
  const ClusterProfile infiniband = read_profile("ibm-infiniband"), roce = read_profile("ibm-roce"),
                       efa = read_profile("aws-p5-efa"), local = read_profile("local");
  const auto inert = [&](const char* name, const char* value, const ClusterProfile& p) {
    return one(name, value, "2.28.9", &p).find("has no effect") != std::string::npos;
  };
  EXPECT_TRUE(inert("NCCL_SOCKET_NTHREADS", "4", infiniband));
  EXPECT_TRUE(inert("NCCL_SOCKET_NTHREADS", "4", efa));
  EXPECT_TRUE(inert("NCCL_IB_QPS_PER_CONNECTION", "4", efa));
  EXPECT_FALSE(inert("NCCL_IB_QPS_PER_CONNECTION", "4", infiniband));
  EXPECT_FALSE(inert("NCCL_IB_QPS_PER_CONNECTION", "4", roce));
  EXPECT_TRUE(inert("NCCL_IB_ADDR_FAMILY", "AF_INET", infiniband));
  EXPECT_FALSE(inert("NCCL_IB_ADDR_FAMILY", "AF_INET", roce));
  EXPECT_TRUE(inert("NCCL_CROSS_NIC", "1", local));  // no GPUs
  // NCCL_NET says what carries the traffic where there is no profile.
  const Environment sockets = {{"NCCL_NET", "Socket"}, {"NCCL_IB_TC", "106"}};
  EXPECT_NE(lint(table(), sockets, "", nullptr).front().advice.find("NCCL_NET=Socket"), std::string::npos);
}

/// Google's GPUDirect-TCPX reads NCCL's variables of sockets; gIB and HPC-X's IBext read those of verbs.
TEST(Lint, OfAPluginsNetworkItIsNotKnownWhatHasAnEffect) {
  ClusterProfile custom = read_profile("grand-teton");
  custom.environment.generate = false;
  custom.environment.variables.clear();
  const auto advice = [&](const char* net, const std::string& name) {
    for (const Finding& f : lint(table(), {{"NCCL_NET", net}, {name, "4"}}, "2.28.9", &custom)) {
      if (f.check == name) return f.advice;
    }
    return std::string("none");
  };
  for (const char* name : {"NCCL_SOCKET_NTHREADS", "NCCL_NSOCKS_PERTHREAD", "NCCL_IB_QPS_PER_CONNECTION"}) {
    EXPECT_EQ(advice("GPUDirectTCPX_v7", name).find("has no effect"), std::string::npos) << name;
  }
  for (const char* net : {"IB", "gIB", "IBext_v10"}) {
    EXPECT_EQ(advice(net, "NCCL_SOCKET_NTHREADS"),
              fmt::format("has no effect: traffic between nodes does not go that way (NCCL_NET={})", net));
    EXPECT_EQ(advice(net, "NCCL_IB_QPS_PER_CONNECTION").find("has no effect"), std::string::npos) << net;
  }
}

TEST(Lint, WhatLeavesTheFabricIsBad) {
  const ClusterProfile infiniband = read_profile("ibm-infiniband");
  EXPECT_TRUE(one("NCCL_NET", "Socket", "2.28.9", &infiniband).starts_with("bad"));
  EXPECT_TRUE(one("NCCL_IB_DISABLE", "1", "2.28.9", &infiniband).starts_with("bad"));
  EXPECT_TRUE(one("NCCL_NET", "IB", "2.28.9", &infiniband).starts_with("ok"));
  EXPECT_NE(one("NCCL_IB_HCA", "=mlx5_0", "2.28.9", &infiniband).find("leaves out mlx5_1, mlx5_2"), std::string::npos);
  ClusterProfile one_card = infiniband;
  one_card.nics.hca = {"mlx5_0"};
  EXPECT_NE(one("NCCL_IB_HCA", "=mlx5_0,mlx5_9", "2.28.9", &one_card).find("has mlx5_9, which"), std::string::npos);
}

TEST(Lint, ADefaultThatDoesHarmIsSaidOfMachinesWithGpus) {
  const ClusterProfile infiniband = read_profile("ibm-infiniband"), local = read_profile("local");
  const auto about = [&](const ClusterProfile* p, const std::string& name) {
    return std::ranges::count(lint(table(), {}, "2.28.9", p), name, &Finding::check);
  };
  ClusterProfile bare = infiniband;
  bare.environment.generate = false;
  EXPECT_EQ(about(&bare, "UCX_TLS"), 1);
  EXPECT_EQ(about(&infiniband, "UCX_TLS"), 0);  // whose job sets it
  EXPECT_EQ(about(&local, "UCX_TLS"), 0);
  EXPECT_EQ(about(nullptr, "UCX_TLS"), 0);
  EXPECT_EQ(about(&bare, "NCCL_NVLS_ENABLE"), 0) << "the programs set it when they see their GPUs";
}

// A shell from which jobs are submitted lacks what the job sets, and may have another value.
TEST(Lint, WhatTheJobSetsIsNotMissedInAShell) {
  ClusterProfile roce = read_profile("ibm-roce");
  roce.nics.traffic_class = 106;
  EXPECT_TRUE(lint(table(), {}, "2.28.9", &roce).empty());
  EXPECT_FALSE(lint(table(), {{"SLURM_JOB_ID", "7"}}, "2.28.9", &roce).empty()) << "in a job it has got lost";
  EXPECT_TRUE(one("NCCL_DEBUG", "INFO", "2.28.9", &roce).ends_with("; the job of ibm-roce sets \"WARN\"\n"));
  EXPECT_EQ(one("NCCL_DEBUG", "WARN", "2.28.9", &roce).find("the job of"), std::string::npos);
  roce.environment.variables = {{.name = "UCX_TLS", .value = "", .reason = "ours", .unset = true}};
  const Findings unset = lint(table(), {}, "2.28.9", &roce);
  ASSERT_EQ(unset.size(), 1U);
  EXPECT_EQ(unset[0].check + " " + unset[0].seen, "UCX_TLS not set");
}

// What octet submit writes into jobs stands up to its own lint.
TEST(Lint, TheProfilesOfTheRepositoryHaveNothingBad) {
  for (const std::string& name : shared_names("configs/clusters", ".yaml")) {
    const ClusterProfile profile = read_profile(name);
    Environment environment;
    for (const EnvironmentValue& v : job_environment(profile, "/run")) environment[v.name] = v.value;
    for (const char* nccl : {"2.24.3", "2.27.7", "2.28.9", "2.30.7"}) {
      for (const Finding& f : lint(table(), environment, nccl, &profile)) {
        if (f.advice.starts_with("set for NCCL before ")) continue;  // what a newer release has to be measured for
        EXPECT_EQ(f.state, FindingState::ok)
            << name << ", NCCL " << nccl << ": " << f.check << '=' << f.seen << ": " << f.expected << ' ' << f.advice;
      }
    }
  }
}

/// The variables of a profile for a network of a plugin, as its vendor has them.
TEST(Lint, WhatVendorsAskForIsNoFault) {
  const auto findings = [](const Environment& variables, bool generate = true) {
    ClusterProfile profile = read_profile("grand-teton");
    profile.environment.generate = generate;
    profile.environment.variables.clear();
    for (const auto& [name, value] : variables) profile.environment.variables.push_back({name, value, "the vendor's"});
    return environment_findings(profile, "/run");
  };
  // HPE's for Slingshot (HewlettPackard/shs-ccl-docs, ccl_env.sh), with the plugin's file.
  const std::vector<std::string> slingshot = findings({{"NCCL_NET", "AWS Libfabric"},
                                                       {"NCCL_NET_PLUGIN", "libnccl-net.so"},
                                                       {"NCCL_CROSS_NIC", "1"},
                                                       {"NCCL_NET_GDR_LEVEL", "PHB"},
                                                       {"FI_PROVIDER", "cxi"},
                                                       {"FI_MR_CACHE_MONITOR", "userfaultfd"},
                                                       {"FI_CXI_DISABLE_HOST_REGISTER", "1"},
                                                       {"FI_CXI_DEFAULT_CQ_SIZE", "131072"},
                                                       {"FI_CXI_DEFAULT_TX_SIZE", "2048"},
                                                       {"FI_CXI_RDZV_PROTO", "alt_read"},
                                                       {"FI_CXI_RDZV_EAGER_SIZE", "0"},
                                                       {"FI_CXI_RDZV_THRESHOLD", "0"},
                                                       {"FI_CXI_RDZV_GET_MIN", "0"},
                                                       {"FI_CXI_RX_MATCH_MODE", "hybrid"}});
  EXPECT_EQ(joined(slingshot, "\n"), "");
  // Google's for A3 Mega (google/nccl-plugin-gpudirect-tcpxo, nccl-env-profile.sh), which leaves it to NCCL to find the
  // plugin: without a generated NCCL_NET. LL128 needs a look all the same.
  const std::vector<std::string> mega =
      findings({{"NCCL_FASTRAK_IFNAME", "eth1,eth2,eth3,eth4,eth5,eth6,eth7,eth8"},
                {"NCCL_FASTRAK_CTRL_DEV", "eth0"},
                {"NCCL_FASTRAK_USE_SNAP", "1"},
                {"NCCL_CROSS_NIC", "0"},
                {"NCCL_PROTO", "Simple,LL128"},
                {"NCCL_NET_GDR_LEVEL", "PIX"},
                {"NCCL_BUFFSIZE", "8388608"},
                {"NCCL_NVLSTREE_MAX_CHUNKSIZE", "131072"},
                {"NCCL_TUNER_PLUGIN", "libnccl-tuner.so"},
                {"NCCL_TUNER_CONFIG_PATH", "/lib64/a3plus_tuner_config.textproto"},
                {"NCCL_SHIMNET_GUEST_CONFIG_CHECKER_CONFIG_FILE", "/lib64/a3plus_guest_config.textproto"}},
               false);
  ASSERT_EQ(mega.size(), 1U) << joined(mega, "\n");
  EXPECT_TRUE(mega[0].starts_with("environment.variables: NCCL_PROTO = Simple,LL128: turns NCCL's"));
  // Google's for A3 (cluster-toolkit, a3-highgpu-8g), whose plugin reads variables of NCCL's sockets.
  const std::vector<std::string> high = findings({{"NCCL_NET", "GPUDirectTCPX_v7"},
                                                  {"NCCL_NET_PLUGIN", "libnccl-net.so"},
                                                  {"NCCL_NSOCKS_PERTHREAD", "4"},
                                                  {"NCCL_SOCKET_NTHREADS", "1"},
                                                  {"NCCL_DYNAMIC_CHUNK_SIZE", "524288"},
                                                  {"NCCL_GPUDIRECTTCPX_CTRL_DEV", "eth0"}});
  EXPECT_EQ(joined(high, "\n"), "");
}

TEST(Lint, ASubmissionHearsOfTheValuesOfItsProfile) {
  ClusterProfile profile = read_profile("ibm-infiniband");
  EXPECT_TRUE(environment_findings(profile, "/run").empty());
  profile.environment.variables = {{"NCCL_IB_RETRY_CNT", "10", "copied"}, {"NCCL_IB_SL", "1", "ours"}};
  const auto findings = environment_findings(profile, "/run");
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0],
            "environment.variables: NCCL_IB_RETRY_CNT = 10: expected 0 to 7; tries before a connection fails (NCCL "
            "docs, env)");
}

TEST(Lint, ASubmissionHearsOfGeneratedValuesThatItsProfileContradicts) {
  ClusterProfile profile = read_profile("grand-teton");
  const std::vector<EnvironmentValue> rest = profile.environment.variables;
  profile.environment.variables.push_back({"NCCL_NET", "AWS Libfabric", "the plugin"});
  const auto told = environment_findings(profile, "/run");
  const auto plugin = std::ranges::find_if(told, [](const std::string& one) {
    return one.starts_with("environment.variables: NCCL_NET_PLUGIN = none, generated: bad: expected the plugin");
  });
  EXPECT_NE(plugin, told.end());
  profile.environment.variables = {{"NCCL_NET", "AWS Libfabric", "the plugin"},
                                   {.name = "NCCL_NET_PLUGIN", .value = "", .reason = "found", .unset = true}};
  EXPECT_TRUE(environment_findings(profile, "/run").empty());
  profile.environment.variables = {{"NCCL_NET_PLUGIN", "libnccl-net.so", "the plugin alone"}};
  ASSERT_EQ(environment_findings(profile, "/run").size(), 1U);
  EXPECT_EQ(environment_findings(profile, "/run")[0],
            "environment.variables: NCCL_NET_PLUGIN = libnccl-net.so: expected none, or the name of the plugin's "
            "network in NCCL_NET in place of IB; NCCL_NET=IB is NCCL's own network: that of the plugin is not used "
            "(NCCL's source, net)");
  profile.environment.variables = rest;
  EXPECT_TRUE(environment_findings(profile, "/run").empty());
}

TEST(Lint, ATrafficClassThatIsADscpIsToldBeforeTheQueue) {
  ClusterProfile profile = read_profile("ibm-roce");
  profile.nics.traffic_class = 26;
  ASSERT_EQ(environment_findings(profile, "/run").size(), 1U);
  EXPECT_TRUE(
      environment_findings(profile, "/run")[0].starts_with("nics.traffic_class = 26: is DSCP 6 with ECN bits 2"));
  profile.nics.traffic_class = 104;
  EXPECT_TRUE(environment_findings(profile, "/run").empty());
  // On InfiniBand there is no DSCP.
  const ClusterProfile infiniband = read_profile("ibm-infiniband"), roce = read_profile("ibm-roce");
  EXPECT_TRUE(one("NCCL_IB_TC", "26", "2.28.9", &infiniband).starts_with("ok"));
  const Findings unset = lint(table(), {}, "2.30.7", &roce);
  EXPECT_TRUE(
      std::ranges::any_of(unset, [](const Finding& f) { return f.check == "NCCL_IB_TC" && f.seen == "not set"; }));
}

TEST(Lint, PatHasOneRankANode) {
  ClusterProfile profile = read_profile("ibm-infiniband");
  EXPECT_TRUE(one("NCCL_ALGO", "allgather:pat", "2.28.9", &profile).starts_with("bad"));
  profile.gpus.per_node = 1;
  EXPECT_TRUE(one("NCCL_ALGO", "allgather:pat", "2.28.9", &profile).starts_with("warning"));
  EXPECT_TRUE(one("NCCL_ALGO", "allgather:nvls", "2.28.9", &profile).starts_with("bad"));
  profile.nodes.count = 1;
  EXPECT_TRUE(one("NCCL_ALGO", "allgather:nvls", "2.28.9", &profile).starts_with("warning"));
}

}  // namespace
}  // namespace octet
