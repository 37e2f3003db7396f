// octet tune explain as a user runs it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/data/support.h"
#include "tests/support/run_command.h"

namespace octet::test {
namespace {

using Json = nlohmann::json;

CommandResult explain(const std::string& arguments) {
  return run_command(std::string(OCTET_BIN_DIR) + "/octet tune explain " + arguments);
}

Json explained(const std::string& arguments) {
  const CommandResult result = explain(arguments + " --json");
  Json answer = Json::parse(result.out);
  const bool unhealthy = answer.contains("measured") && !answer["measured"]["healthy"].get<bool>();
  EXPECT_EQ(result.exit_code, unhealthy ? 76 : 0) << result.all();
  return answer;
}

void expect_refused(const std::string& arguments, const std::string& word) {
  const CommandResult result = explain(arguments);
  EXPECT_EQ(result.exit_code, 64) << arguments;
  EXPECT_NE(result.all().find(word), std::string::npos) << result.all();
}

TEST(Explain, SaysWhatIsChosenWhyAndWhatIsLeftOut) {
  const CommandResult result = explain("--collective all_gather --size 64M --nodes 32");
  EXPECT_EQ(result.exit_code, 0);
  for (const std::string words :
       {"all_gather of 64 MiB over 32 nodes x 8 ranks, NCCL 2.28.9", "NCCL chooses ring/ll128", "us latency",
        "the next, ring/simple", "each of 8 NICs", "rings 8 x 48/48", "pat takes one GPU a node"}) {
    EXPECT_NE(result.all().find(words), std::string::npos) << words << "\n" << result.all();
  }
  EXPECT_EQ(result.all().find("measured"), std::string::npos);
}

TEST(Explain, JsonHasEveryAlternative) {
  const Json answer = explained("--collective all_reduce --size 1G --nodes 16 --cluster ibm-roce");
  EXPECT_EQ(answer["choice"]["algorithm"], "nvls_tree");
  EXPECT_NEAR(answer["choice"]["busbw_gbs"], 352, 4);
  EXPECT_EQ(answer["alternatives"].size(), 21U);
  EXPECT_EQ(answer["graphs"]["ring"]["channels"], 8);
  EXPECT_FALSE(answer.contains("measured"));
}

// Hierarchical: bus bandwidth x (k-1)/(n-1) a NIC; a ring: all of it over 8.
TEST(Explain, WireRatesAreThoseOfTheAlgorithm) {
  const Json tree = explained("--collective all_reduce --size 1G --nodes 16")["choice"];
  EXPECT_NEAR(tree["wire_gbs_per_nic"].get<double>(), tree["busbw_gbs"].get<double>() * 15 / 127, 1e-6);
  const Json ring = explained("--collective all_gather --size 1G --nodes 16")["choice"];
  EXPECT_NEAR(ring["wire_gbs_per_nic"].get<double>(), ring["busbw_gbs"].get<double>() / 8, 1e-6);
  EXPECT_EQ(explained("--collective all_gather --size 1G --nodes 1")["choice"]["wire_gbs_per_nic"], 0);
  const auto sharp = explained("--collective all_gather --size 1G --nodes 16 --machine sharp=1")["choice"];
  ASSERT_NE(sharp["algorithm"], "ring");
  EXPECT_EQ(sharp["wire_gbs_per_nic"], sharp["wire_received_gbs_per_nic"]);
  EXPECT_NEAR(sharp["wire_received_gbs_per_nic"].get<double>(), 15 * sharp["wire_sent_gbs_per_nic"].get<double>(),
              1e-9);
}

TEST(Explain, JudgesMeasurementsByTheModel) {
  const std::string asked = "--collective all_reduce --size 1G --nodes 16 ";
  const Json good = explained(asked + "--measured 340GB/s")["measured"];
  EXPECT_TRUE(good["healthy"]);
  EXPECT_NEAR(good["threshold_gbs"].get<double>(), .85 * 352, 4);
  EXPECT_EQ(good["threshold_share"], .85);
  const Json bad = explained(asked + "--measured 231GB/s")["measured"];
  EXPECT_FALSE(bad["healthy"]);
  EXPECT_NE(explain(asked + "--measured 231GB/s").out.find("NOT healthy"), std::string::npos);
  EXPECT_EQ(explain(asked + "--measured 231GB/s").exit_code, 76);
  // The same threshold in time: bytes x 2(n-1)/n over it.
  EXPECT_TRUE(explained(asked + "--measured 6.1ms")["measured"]["healthy"]);
  EXPECT_FALSE(explained(asked + "--measured 8ms")["measured"]["healthy"]);
}

TEST(Explain, SaysWhatNoNicCanCarryAndWhatNothingExplains) {
  const std::string asked = "--collective all_reduce --size 1G --nodes 16 ";
  const Json beyond = explained(asked + "--measured 1000GB/s")["measured"];
  EXPECT_FALSE(beyond["healthy"]);
  EXPECT_FALSE(beyond["possible"]);
  const std::string text = explain(asked + "--measured 1000GB/s").out;
  EXPECT_NE(text.find("NOT possible"), std::string::npos) << text;
  EXPECT_NE(text.find("and can do 48"), std::string::npos) << text;
  const Json far = explained(asked + "--measured 5GB/s")["measured"];
  EXPECT_TRUE(far["possible"]);
  EXPECT_TRUE(far["nearest"].is_null());
  EXPECT_NE(explain(asked + "--measured 5GB/s").out.find("no other algorithm explains it"), std::string::npos);
}

TEST(Explain, SaysThatTheFiguresKnowNothingOfThinUplinks) {
  const std::string asked = "--collective all_gather --size 4G --nodes 16 --cluster dgx-h100-infiniband";
  const std::string thin = asked + " --cluster.network.oversubscription 8 --cluster.network.leaf_nodes ";
  EXPECT_TRUE(explained(asked)["assumes"].empty());
  EXPECT_EQ(explain(asked).out.find("assumes"), std::string::npos);
  const std::string told = explained(thin + "4")["assumes"].at(0);
  EXPECT_NE(told.find("(leaves of 4 nodes oversubscribed 8:1); octet tune placement"), std::string::npos) << told;
  EXPECT_NE(explain(thin + "4").out.find("  assumes: " + told), std::string::npos);
  const std::string one_leaf = explained(thin + "32")["assumes"].at(0);
  EXPECT_NE(one_leaf.find("oversubscribed 8:1, but one could hold the job"), std::string::npos) << one_leaf;
  EXPECT_TRUE(explained("--collective all_gather --size 4G --nodes 1 --cluster dgx-h100-infiniband "
                        "--cluster.network.oversubscription 8")["assumes"]
                  .empty());
}

TEST(Explain, SaysWhatTheProfileDoesNotSay) {
  const std::string asked = "--collective all_gather --size 1G --nodes 8 --cluster ibm-infiniband ";
  EXPECT_EQ(explained(asked + "--cluster.nics.gbps 0")["assumes"],
            Json({"8 NICs of 48 GB/s a node: nics.gbps of the profile is 0, and there is no --machine nic-gbs"}));
  EXPECT_TRUE(explained(asked + "--cluster.nics.gbps 0 --machine nic-gbs=40")["assumes"].empty());
  EXPECT_EQ(explained(asked + "--cluster.nodes.count 4")["assumes"],
            Json({"that the cluster has 8 nodes; nodes.count of its profile is 4"}));
  EXPECT_TRUE(explained(asked + "--cluster.nodes.count 8")["assumes"].empty());
}

TEST(Explain, LL128IsOffWhereCardsDoNotReachTheGpus) {
  const std::string asked = "--collective all_gather --size 64M --nodes 32 --cluster ibm-infiniband ";
  EXPECT_EQ(explained(asked)["choice"]["protocol"], "ll128");
  EXPECT_NE(explained(asked + "--cluster.environment.variables "
                              "'[{name: NCCL_NET_GDR_LEVEL, value: LOC, reason: no peermem}]'")["choice"]["protocol"],
            "ll128");
}

TEST(Explain, Of2And30SaysWhoseChannelsItTakes) {
  const std::string asked = "--collective all_gather --size 1G --nodes 8 --nccl ";
  const Json recent = explained(asked + "2.30.7"), before = explained(asked + "2.29.7");
  EXPECT_EQ(recent["choice"], before["choice"]);
  ASSERT_EQ(recent["assumes"].size(), 1U);
  EXPECT_NE(recent["assumes"][0].get<std::string>().find("channels that NCCL 2.29 would search out"),
            std::string::npos);
  EXPECT_TRUE(before["assumes"].empty());
  expect_refused(asked + "2.31",
                 "the cost models of 2.27 to 2.30 are known, expected a version such as 2.28.9 (--nccl)");
}

TEST(Explain, ARefusedVersionOfATuningFileIsTheFiles) {
  const TempFolder folder;
  write_bytes(folder / "tuning.json", R"({"octet_tuning": 1, "cluster": "c", "fabric": "roce", "nccl": "2.31.0",
    "provenance": {"created": "2026-01-01T00:00:00Z", "tool": "octet 0.1.0", "measurements": [], "notes": []},
    "constants": {}, "fits": [], "choices": []})");
  expect_refused("--collective all_gather --size 1G --nodes 8 --tuning-file " + (folder / "tuning.json"),
                 "(the NCCL of --tuning-file)");
}

TEST(Explain, TheThresholdFollowsTheMachine) {
  const std::string asked = "--collective all_gather --size 4G --nodes 8 --measured 150GB/s";
  EXPECT_FALSE(explained(asked)["measured"]["healthy"]);
  EXPECT_TRUE(explained(asked + " --machine nic-gbs=20")["measured"]["healthy"]);
}

TEST(Explain, ATuningFilePinsChoices) {
  const TempFolder folder;
  write_bytes(folder / "tuning.json", R"({"octet_tuning": 1, "cluster": "c", "fabric": "roce", "nccl": "2.28.9",
    "provenance": {"created": "2026-01-01T00:00:00Z", "tool": "octet 0.1.0", "measurements": [], "notes": []},
    "constants": {}, "fits": [], "choices": [{"collective": "all_gather", "nodes": [4, 0], "ranks_per_node": 8,
    "bytes": [0, 0], "algorithm": "ring", "protocol": "simple", "reason": "measured 5 us against 6 us"}]})");
  const std::string asked = "--collective all_gather --size 64M --nodes 8 --tuning-file " + (folder / "tuning.json");
  EXPECT_EQ(explained(asked)["choice"]["protocol"], "simple");
  EXPECT_NE(explain(asked).out.find("pinned by the tuning file: measured 5 us"), std::string::npos);
  expect_refused(asked + " --nccl 2.27.7", "2.28.9");
  EXPECT_EQ(explained(asked)["tuning"], (folder / "tuning.json") + ", of cluster c (roce), NCCL 2.28.9");
  const CommandResult other = explain(asked + " --cluster ibm-roce");
  EXPECT_NE(other.err.find("of cluster c (roce)"), std::string::npos) << other.err;
  EXPECT_NE(other.err.find("and not of ibm-roce"), std::string::npos) << other.err;
  expect_refused("--collective all_gather --size 64M --nodes 8 --tuning-file /no/such/file", "/no/such/file");
}

TEST(Explain, RefusesWhatItDoesNotUnderstand) {
  const std::string asked = "--collective all_gather --size 64M --nodes 8 ";
  expect_refused("--collective gather --size 64M --nodes 8", "all_gather, reduce_scatter, all_reduce (--collective)");
  expect_refused("--collective all_gather --size 64Q --nodes 8", "--size = \"64Q\": expected bytes");
  expect_refused("--size 64M --nodes 8", "collective");
  expect_refused("--collective all_gather --size 64M --nodes 1 --ranks-per-node 1", "two ranks");
  expect_refused(asked + "--ranks-per-node 16", "8 GPUs");
  expect_refused(asked + "--ranks-per-node 0", "--ranks-per-node = 0: expected integer >= 1, <= 1000000");
  expect_refused(asked + "--nccl 2.31.2", "(--nccl)");
  for (const std::string nodes : {"0", "-2", "1000001"}) {
    expect_refused("--collective all_gather --size 64M --nodes " + nodes, "--nodes = " + nodes + ": expected integer");
  }
  for (const std::string nodes : {"two", "1.5"}) {
    expect_refused("--collective all_gather --size 64M --nodes " + nodes,
                   "--nodes = \"" + nodes + "\": expected a decimal integer");
  }
  expect_refused(asked + "--machine fast=1", "NAME=VALUE");
  expect_refused(asked + "--measured 210", "210GB/s");
  expect_refused(asked + "--cluster local", "no GPUs");
}

}  // namespace
}  // namespace octet::test
