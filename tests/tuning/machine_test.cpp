#include "src/tuning/cost_model/nccl_machine.h"

#include <gtest/gtest.h>

#include "src/base/error.h"
#include "src/cluster/profile.h"
#include "src/tuning/cost_model/model.h"
#include "src/tuning/cost_model/size_text.h"
#include "tests/support/error_of.h"

namespace octet {
namespace {

void expect_graph(const SearchedGraph& graph, int channels, double intra, double inter) {
  EXPECT_EQ(graph.channels, channels);
  EXPECT_DOUBLE_EQ(graph.intra_gbs, intra);
  EXPECT_DOUBLE_EQ(graph.inter_gbs, inter);
}

NcclMachine changed(std::initializer_list<std::string_view> assignments) {
  NcclMachine machine;
  for (const std::string_view assignment : assignments) set_field(machine, assignment);
  return machine;
}

// The log of an H100 node (NVIDIA/nccl issue 1197): Pattern 4 and 1 with 12 x 30/30, Pattern 5 with 8 x 40/60.
TEST(GraphSearch, OneH100NodeIsAsItsLogSays) {
  const SearchedGraphs found = search_graphs({}, {1, 8});
  expect_graph(found.ring, 12, 30, 30);
  expect_graph(found.tree, 12, 30, 30);
  expect_graph(found.nvls, 8, 40, 60);
  EXPECT_EQ(found.channels, 24);
}

// Published logs of two H100 nodes with a NIC of 400 Gb/s a GPU: Pattern 4 with 8 x 48/48, 16 channels.
TEST(GraphSearch, SeveralH100NodesAreAsTheirLogSays) {
  const SearchedGraphs found = search_graphs({}, {2, 8});
  expect_graph(found.ring, 8, 48, 48);
  expect_graph(found.nvls, 8, 40, 48);
  EXPECT_EQ(found.channels, 16);
}

// NVIDIA/nccl issue 1189: 2 of 8 GPUs, each with its NIC of 400 Gb/s: 4 x 24/24.
TEST(GraphSearch, TwoGpusANodeSplitTheirTwoFastChannels) {
  expect_graph(search_graphs({}, {2, 2}).ring, 4, 24, 24);
}

// A100 with 12 links of 20 GB/s: 12 channels of 20, as known from its logs.
TEST(GraphSearch, OneA100NodeHasTwelveChannels) {
  expect_graph(search_graphs(changed({"generation=ampere", "nvlink-gbs=240"}), {1, 8}).ring, 12, 20, 20);
}

TEST(GraphSearch, FewerNicsLetTreesBeFasterInsideThanOutside) {
  const SearchedGraphs found = search_graphs(changed({"nics=4"}), {2, 8});
  expect_graph(found.ring, 8, 24, 24);
  expect_graph(found.tree, 8, 48, 24);
  EXPECT_EQ(found.nvls.channels, 4);
}

TEST(GraphSearch, LinksTooSlowForAnySpeedFallBackToOneChannel) {
  expect_graph(search_graphs(changed({"nvlink-gbs=1"}), {1, 8}).ring, 1, .1, .1);
}

TEST(MachineOf, ClustersOfH100HaveARailAGpu) {
  for (const std::string name : {"dgx-h100-infiniband", "ibm-infiniband", "ibm-roce"}) {
    EXPECT_EQ(machine_of(read_profile(name)), NcclMachine{}) << name;
  }
}

TEST(MachineOf, TheProfilesEnvironmentCounts) {
  EXPECT_EQ(machine_of(read_profile("grand-teton")), changed({"net-overhead-us=2.75"}));
  ClusterProfile profile = read_profile("ibm-roce");
  profile.environment.variables = {{"NCCL_NVLS_ENABLE", "0", ""}};
  EXPECT_EQ(machine_of(profile), changed({"nvls=0"}));
}

TEST(MachineOf, LL128NeedsGpuDirect) {
  ClusterProfile profile = read_profile("ibm-roce");
  const auto with = [&](const std::string& name, const std::string& value) {
    profile.environment.variables = {{name, value, ""}};
    return machine_of(profile);
  };
  EXPECT_EQ(with("NCCL_NET_GDR_LEVEL", "LOC"), changed({"ll128=0"}));
  EXPECT_EQ(with("NCCL_NET_GDR_LEVEL", "0"), changed({"ll128=0"}));
  EXPECT_EQ(with("NCCL_NET_GDR_LEVEL", "SYS"), NcclMachine{});
  EXPECT_EQ(with("NCCL_NET", "Socket"), changed({"ll128=0"}));
}

TEST(MachineOf, SharpIsOfAPluginsNetwork) {
  ClusterProfile profile = read_profile("ibm-infiniband");
  EnvironmentProfile& environment = profile.environment;
  environment.variables = {{"NCCL_COLLNET_ENABLE", "1", ""}};
  EXPECT_EQ(machine_of(profile), NcclMachine{}) << "NCCL_NET=IB and NCCL_NET_PLUGIN=none are generated";
  const EnvironmentValue any_network{.name = "NCCL_NET", .value = "", .reason = "", .unset = true};
  environment.variables.push_back(any_network);
  EXPECT_EQ(machine_of(profile), NcclMachine{}) << "plugins are off";
  environment.variables.push_back({.name = "NCCL_NET_PLUGIN", .value = "", .reason = "", .unset = true});
  EXPECT_EQ(machine_of(profile), changed({"sharp=1"}));
  environment.variables[1] = {"NCCL_NET", "IBext_v10", ""};
  EXPECT_EQ(machine_of(profile), changed({"sharp=1"}));
}

TEST(MachineOf, TheEfasOfAGpuAreOneDeviceAndSlow) {
  const NcclMachine machine = machine_of(read_profile("aws-p5-efa"));
  EXPECT_EQ(machine.nics, 8);
  EXPECT_DOUBLE_EQ(machine.nic_gbs, 48);
  EXPECT_DOUBLE_EQ(machine.net_latency_us, 75);
  EXPECT_EQ(machine.cpu, CpuVendor::amd);
}

TEST(MachineOf, RefusesClustersOfWhichItKnowsTooLittle) {
  EXPECT_THROW(machine_of(read_profile("local")), Error);
  for (const std::string type : {"Voodoo 2", "GB200 NVL72"}) {
    ClusterProfile profile = read_profile("ibm-roce");
    profile.gpus.type = type;
    EXPECT_THROW(machine_of(profile), Error) << type;
  }
}

std::string message_of(std::string_view assignment) {
  NcclMachine machine;
  std::string message = test::error_of([&] { set_field(machine, assignment); });
  EXPECT_EQ(machine, NcclMachine{}) << assignment;
  return message;
}

TEST(SetField, ChangesWhatItNames) {
  const NcclMachine machine = changed({"cpu=amd", "nics=4", "nic-gbs=25", "sharp=1", "net-overhead-us=2.75"});
  EXPECT_EQ(machine.cpu, CpuVendor::amd);
  EXPECT_EQ(machine.nics, 4);
  EXPECT_DOUBLE_EQ(machine.nic_gbs, 25);
  EXPECT_TRUE(machine.sharp);
  EXPECT_DOUBLE_EQ(machine.net_overhead_us.value(), 2.75);
}

TEST(SetField, RefusesWithWhatItExpected) {
  EXPECT_NE(message_of("nick=4").find("nics"), std::string::npos);
  EXPECT_NE(message_of("nics").find("NAME=VALUE"), std::string::npos);
  EXPECT_NE(message_of("nics=1.5").find("whole number"), std::string::npos);
  EXPECT_NE(message_of("nics=0").find("at least 1"), std::string::npos);
  EXPECT_NE(message_of("nic-gbs=inf").find("number"), std::string::npos);
  EXPECT_NE(message_of("cpu=arm").find("intel, amd, other"), std::string::npos);
  EXPECT_NE(message_of("sharp=yes").find("1 or 0"), std::string::npos);
}

TEST(SizeText, IsShort) {
  EXPECT_EQ(size_text(64 << 20), "64 MiB");
  EXPECT_EQ(size_text(100), "100 B");
}

TEST(SizeText, ReadsMeasuredTimesAndRates) {
  EXPECT_DOUBLE_EQ(parse_measured("45us", 1000), 45);
  EXPECT_DOUBLE_EQ(parse_measured("1.5ms", 1000), 1500);
  EXPECT_DOUBLE_EQ(parse_measured("250GB/s", 1000), 4);
  for (const std::string text : {"", "45", "us", "-3us", "0GB/s", "210Gb/s"}) {
    EXPECT_THROW(parse_measured(text, 1000), Error) << text;
  }
}

TEST(NcclVersion, OnlyThoseThatWereReadAreTaken) {
  EXPECT_EQ(parse_nccl_version("2.28.9+cuda13.0"), (NcclVersion{2, 28, 9}));
  EXPECT_EQ(parse_nccl_version("2.27"), (NcclVersion{2, 27, 7}));
  for (const std::string text : {"", "2", "2.26.2", "2.31.0", "3.28.1"}) {
    EXPECT_THROW(parse_nccl_version(text), Error) << text;
  }
}

}  // namespace
}  // namespace octet
