#include "src/tuning/contention/placement.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "src/base/error.h"
#include "src/cluster/profile.h"
#include "src/cluster/slurm_topology.h"
#include "tests/support/expect_has.h"
#include "tests/support/run_command.h"

namespace octet {
namespace {

using test::CommandResult;
using test::run_command;

const std::string placement = OCTET_BIN_DIR "/octet tune placement ";

FlowNetwork leaves_of_four() {
  FlowNetwork shape;
  shape.gpus = shape.cards = 1;
  shape.leaf_nodes = 4;
  shape.pod_nodes = 8;
  return shape;
}

std::vector<std::string> hosts_of(const std::vector<NodePlace>& nodes) {
  std::vector<std::string> hosts;
  hosts.reserve(nodes.size());
  for (const NodePlace& node : nodes) hosts.push_back(node.host);
  return hosts;
}

TEST(Placement, AProfileGivesTheShape) {
  const FlowNetwork shape =
      shape_of(read_profile("ibm-infiniband", {{"network.oversubscription", "2"}, {"network.latency_us", "3"}}));
  EXPECT_EQ(shape.gpus, 8);
  EXPECT_EQ(shape.cards, 8);
  EXPECT_TRUE(shape.rails);
  EXPECT_EQ(shape.leaf_nodes, 32);
  EXPECT_EQ(shape.pod_nodes, 128);
  EXPECT_EQ(shape.oversubscription, 2);
  EXPECT_EQ(shape.wire_gbs, 50);
  EXPECT_EQ(shape.latency_us, 3);
  EXPECT_THROW(shape_of(read_profile("virtual")), Error);
}

TEST(Placement, NodesAreFoundOnTheirLeaves) {
  const FlowNetwork shape = leaves_of_four();
  const NodePlace last = numbered_nodes(shape, 13).back();
  EXPECT_EQ(last.host, "n13");
  EXPECT_EQ(last.leaf, 3);
  EXPECT_EQ(last.pod, 1);
  const std::vector<NodePlace> named = nodes_by_number(shape, {"rack2-n05", "rack1-n4"});
  EXPECT_EQ(named[0].leaf, 1);
  EXPECT_EQ(named[1].leaf, 0);
  EXPECT_EQ(nodes_by_number(shape, {"n0", "n4"})[1].leaf, 1) << "counted from 0";
  EXPECT_THROW(nodes_by_number(shape, {"login"}), Error);
}

TEST(Placement, ATopologyOfPodsIsCutIntoLeaves) {
  const FlowNetwork shape = leaves_of_four();
  const SlurmTopology pods = parse_topology("SwitchName=a Level=0 Nodes=a[1-8]\nSwitchName=b Level=0 Nodes=b[1-6]\n");
  const std::vector<NodePlace> nodes = nodes_of(shape, pods);
  ASSERT_EQ(nodes.size(), 14U);
  EXPECT_EQ(nodes[7].leaf, 1);
  EXPECT_EQ(nodes[7].pod, 0);
  EXPECT_EQ(nodes[8].leaf, 2);
  EXPECT_EQ(nodes[8].pod, 1);
  EXPECT_EQ(nodes[13].leaf, 3);
}

TEST(Placement, WhatSlurmMightChoose) {
  const std::vector<NodePlace> cluster = numbered_nodes(leaves_of_four(), 12);
  const std::vector<NodeSet> sets = node_sets(cluster, 4);
  ASSERT_EQ(sets.size(), 3U);
  EXPECT_EQ(hosts_of(sets[0].nodes), (std::vector<std::string>{"n1", "n2", "n3", "n4"}));
  EXPECT_EQ(hosts_of(sets[1].nodes), (std::vector<std::string>{"n1", "n2", "n11", "n12"}));
  EXPECT_EQ(hosts_of(sets[2].nodes), (std::vector<std::string>{"n1", "n2", "n5", "n9"}));
  EXPECT_EQ(node_sets(cluster, 12).size(), 1U);
  EXPECT_THROW(node_sets(cluster, 13), Error);
}

TEST(Placement, OrdersThatComeToTheSameAreOne) {
  const SlurmTopology topology = parse_topology("SwitchName=a Nodes=n[1,3]\nSwitchName=b Nodes=n[2,4]\n");
  FlowNetwork shape = leaves_of_four();
  shape.leaf_nodes = 2;
  const std::vector<NodeSet> sets = node_sets(nodes_of(shape, topology), 4);
  const auto two = placements(sets, {RankOrder::slurm, RankOrder::topology}, 1);
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(hosts_of(two[0].nodes), (std::vector<std::string>{"n1", "n2", "n3", "n4"}));
  EXPECT_EQ(hosts_of(two[1].nodes), (std::vector<std::string>{"n1", "n3", "n2", "n4"}));
  const auto same = placements(node_sets(numbered_nodes(shape, 4), 4), {RankOrder::slurm, RankOrder::topology}, 1);
  ASSERT_EQ(same.size(), 1U);
  EXPECT_EQ(same[0].order, "slurm, topology");
}

TEST(Placement, ARandomOrderFollowsFromItsSeed) {
  const std::vector<NodeSet> sets = node_sets(numbered_nodes(leaves_of_four(), 8), 8);
  const auto first = placements(sets, {RankOrder::random}, 1), second = placements(sets, {RankOrder::random}, 2);
  EXPECT_EQ(first[0].nodes, placements(sets, {RankOrder::random}, 1)[0].nodes);
  EXPECT_NE(first[0].nodes, second[0].nodes);
}

TEST(Placement, TheMostLoadedLinkIsNamedWithItsFlows) {
  FlowNetwork shape = leaves_of_four();
  shape.oversubscription = 8;  // 4 nodes x 50 GB/s / 8 = 25 GB/s up
  shape.pod_nodes = 0;
  const auto best = placements(node_sets(numbered_nodes(shape, 8), 8), {RankOrder::topology}, 1).front();
  const Workload gather{.bytes = 64'000'000, .mesh = {}};
  const PlacementCost cost = cost_of(shape, best, gather);
  EXPECT_EQ(cost.leaves, 2);
  EXPECT_EQ(cost.crossings, 2U);
  EXPECT_TRUE(cost.link.name == "leaf 0 rail 0 up" || cost.link.name == "leaf 1 rail 0 down") << cost.link.name;
  EXPECT_EQ(cost.flows, (std::vector<std::pair<std::string, std::string>>{{"n4", "n5"}}));
  EXPECT_NEAR(cost.link_busy_us, 7 * 8e6 / 25e3, 1e-6);
  EXPECT_GE(cost.simulation.us, cost.link_busy_us);
  EXPECT_NEAR(cost.bus_gbs, 25, 0.5);
}

TEST(PlacementCommand, ATableAndAnObject) {
  const std::string job = placement +
                          "--cluster dgx-h100-infiniband --set network.leaf_nodes=4 --set network.oversubscription=2 "
                          "--nodes 8 --size 256M --tp 8 --seed 3 ";
  const CommandResult table = run_command(job);
  ASSERT_EQ(table.exit_code, 0) << table.all();
  EXPECT_HAS(table.out, "all_gather of 256.0 MiB by ring, 8 groups of dp_shard with 8 ranks at once");
  EXPECT_HAS(table.out, "packed");
  EXPECT_HAS(table.out, "spread");
  const CommandResult json = run_command(job + "--json");
  ASSERT_EQ(json.exit_code, 0) << json.all();
  const auto report = nlohmann::json::parse(json.out);
  const auto& rows = report.at("placements");
  EXPECT_NEAR(rows.front().at("slow_down"), 1, 0.01);
  EXPECT_EQ(rows.front().at("over_best"), 1.0);
  EXPECT_GT(rows.back().at("slow_down"), 1.2) << "a random order crosses often";
  EXPECT_EQ(report.at("bytes"), 256 << 20);
  EXPECT_FALSE(rows.back().at("most_loaded_link").at("flows").empty());
}

TEST(PlacementCommand, ListsLeavesAndLostRails) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / ("placement" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "topology")
      << "SwitchName=a Level=0 Nodes=x[1,3,5,7]\nSwitchName=b Level=0 Nodes=x[2,4,6,8]\n";
  const CommandResult r = run_command(placement +
                                      "--cluster dgx-h100-infiniband --set network.leaf_nodes=4 --set "
                                      "network.oversubscription=4 --node-list 'x[1-4]' --node-list 'x[1,3,5,7]' --size "
                                      "64M --tp 8 --lost-rails 1@x2 --order slurm --order topology --json --topology " +
                                      (folder / "topology").string());
  std::filesystem::remove_all(folder);
  ASSERT_EQ(r.exit_code, 0) << r.all();
  const auto report = nlohmann::json::parse(r.out);
  const auto& rows = report.at("placements");
  ASSERT_EQ(rows.size(), 3U) << "both orders of four nodes of one leaf are the same";
  EXPECT_EQ(rows[0].at("nodes"), "x[1,3,5,7]");
  EXPECT_EQ(rows[1].at("order"), "topology");
  EXPECT_EQ(rows[2].at("order"), "slurm");
  EXPECT_EQ(rows[2].at("leaf_crossings"), 4);
  EXPECT_NEAR(rows[0].at("slow_down"), 1, 0.01) << "one leaf, all cards";
  EXPECT_NEAR(rows[1].at("slow_down"), 2, 0.05) << "two groups share a card of x2";
}

TEST(PlacementCommand, WhatEveryRowSharesIsASlowDownToo) {
  const std::string job = placement + "--cluster dgx-h100-infiniband --size 1G --tp 8 --lost-rails 2@n5 --json ";
  for (const std::string nodes : {"--nodes 64", "--node-list 'n[1-8]'"}) {
    const CommandResult r = run_command(job + nodes);
    ASSERT_EQ(r.exit_code, 0) << r.all();
    const auto report = nlohmann::json::parse(r.out);
    for (const auto& row : report.at("placements")) {
      EXPECT_NEAR(row.at("slow_down"), 2, 0.05) << row;
      EXPECT_NEAR(row.at("over_best"), 1, 0.01) << row;
      EXPECT_NEAR(row.at("time_us").get<double>() / report.at("healthy_us").get<double>(), row.at("slow_down"), 1e-9);
    }
  }
}

TEST(PlacementCommand, UnknownLeavesAreNotCounted) {
  const std::string job = placement + "--cluster ibm-roce --nodes 4 --size 64M --tp 8 ";
  const CommandResult table = run_command(job);
  ASSERT_EQ(table.exit_code, 0) << table.all();
  EXPECT_HAS(table.out, "leaves not known (network.leaf_nodes, --topology FILE): taken as one");
  EXPECT_HAS(table.out, "     ?          ?");
  const CommandResult json = run_command(job + "--json");
  ASSERT_EQ(json.exit_code, 0) << json.all();
  const auto row = nlohmann::json::parse(json.out).at("placements").front();
  EXPECT_TRUE(row.at("leaves").is_null()) << row;
  EXPECT_TRUE(row.at("leaf_crossings").is_null()) << row;
}

TEST(PlacementCommand, ATopologyGivesTheLeavesThatAProfileDoesNotKnow) {
  const auto file = std::filesystem::path(::testing::TempDir()) / ("leaves" + std::to_string(getpid()));
  std::ofstream(file) << "SwitchName=a Level=0 Nodes=x[1-8]\nSwitchName=b Level=0 Nodes=x[9-14]\n";
  const std::string job = placement +
                          "--cluster ibm-roce --set network.oversubscription=4 --node-list 'x[1,9,2,10,3,11,4,12]' "
                          "--size 64M --tp 8 --order slurm ";
  const CommandResult json = run_command(job + "--json --topology " + file.string());
  const CommandResult table = run_command(job + "--topology " + file.string());
  std::filesystem::remove(file);
  ASSERT_EQ(json.exit_code, 0) << json.all();
  const auto row = nlohmann::json::parse(json.out).at("placements").front();
  EXPECT_EQ(row.at("leaves"), 2);
  EXPECT_EQ(row.at("leaf_crossings"), 8);
  // Four flows of 48 GB/s on a rail's way up of 8 x 50 / 4 GB/s.
  EXPECT_NEAR(row.at("slow_down"), 4 * 48.0 / 100, 0.1);
  EXPECT_HAS(table.out, "leaves of 8 nodes, 4:1");
  const CommandResult without = run_command(job);
  EXPECT_EQ(without.exit_code, 64);
  EXPECT_HAS(without.err, "network.oversubscription = 4: needs network.leaf_nodes");
}

/// The commands with arguments that a page of docs/ has between backticks or after a $, for a cluster that there is.
std::vector<std::string> placement_commands(const std::string& page) {
  std::ifstream in(OCTET_SOURCE_DIR "/docs/" + page);
  const std::string text(std::istreambuf_iterator<char>(in), {}), start = "octet tune placement --";
  std::vector<std::string> commands;
  for (std::size_t at = text.find(start); at != std::string::npos; at = text.find(start, at + 1)) {
    const std::string command = text.substr(at, text.find_first_of("`\n", at) - at);
    const std::size_t name = command.find(" NAME ");
    commands.push_back(name == std::string::npos ? command
                                                 : std::string(command).replace(name, 6, " dgx-h100-infiniband "));
  }
  return commands;
}

TEST(PlacementCommand, CommandsOfThePagesWork) {
  for (const std::string page :
       {"tuning.md", "tuning/contention.md", "tuning/custom.md", "tuning/infiniband.md", "tuning/roce.md"}) {
    const std::vector<std::string> commands = placement_commands(page);
    EXPECT_FALSE(commands.empty()) << page;
    for (const std::string& command : commands) {
      const CommandResult r = run_command(OCTET_BIN_DIR "/" + command + " --most-blocks 1 --order topology --json");
      EXPECT_EQ(r.exit_code, 0) << page << ": " << command << "\n" << r.all();
    }
  }
}

/// With tp 8 a stage is a node's: a card has the message of the stage before, and that of the stage behind.
TEST(PlacementCommand, MessagesOfStagesArePlaced) {
  const CommandResult r = run_command(placement +
                                      "--cluster dgx-h100-infiniband --nodes 16 --tp 8 --pp 8 "
                                      "--collective send --size 32M --most-blocks 1 --order topology");
  EXPECT_EQ(r.exit_code, 0) << r.all();
  EXPECT_HAS(r.all(), "send of 32.0 MiB both ways, 16 groups of pp with 8 ranks at once");
  EXPECT_HAS(r.all(), "1400.1      24.0");  // 64 MiB at 48 GB/s
}

TEST(PlacementCommand, MistakesAreNamed) {
  const std::string job = placement + "--cluster dgx-h100-infiniband --size 1M ";
  for (const auto& [options, part] : std::vector<std::pair<std::string, std::string>>{
           {"", "expected one of --nodes and --node-list"},
           {"--nodes 4 --node-list n1", "expected one of --nodes and --node-list"},
           {"--nodes 400", "a job of 400 nodes on a cluster of 127"},
           {"--nodes 4 --collective broadcast",
            "collective \"broadcast\" is not simulated; expected all_gather, reduce_scatter, all_reduce, send "
            "(--collective)"},
           {"--nodes 4 --collective send", "groups of pp have one rank with pp 1"},
           {"--nodes 4 --pp 2 --dimension pp", "all_gather in groups of pp; ranks of pp send messages (send)"},
           {"--nodes 4 --collective all_to_all",
            "expected all_gather, reduce_scatter, all_reduce, send (--collective)"},
           {"--nodes 4 --order best", "unknown order \"best\""},
           {"--nodes 4 --lost-rails n5", "expected COUNT@HOST"},
           {"--nodes 4 --lost-rails 1@m5", "no placement has a node m5"},
           {"--nodes 4 --lost-rails 8@n1", "has lost 8 of 8 cards"},
           {"--nodes 4 --set network.leaf=3", "network.leaf"},
           {"--nodes 4 --set nics.gbps=100 --cluster.nics.gbps 100", "--cluster.nics.gbps is given twice"},
           {"--nodes -4", "--nodes = -4: expected integer >= 1, <= 1000000"},
           {"--nodes 4 --tp 0", "--tp = 0: expected integer >= 1"},
           {"--nodes 4 --dp-replicate -1", "--dp-replicate = -1: expected integer >= 1"},
           {"--nodes 4 --seed -1", "--seed = -1: expected integer >= 0"},
           {"--nodes 4 --algo rings", "is not simulated; expected ring, tree (--algo)"},
           {"--nodes 4 --tp 3", "does not divide 32 ranks"},
           {"--nodes 4 --dimension rows", "unknown dimension \"rows\""},
           {"--node-list n1,n1", "host n1 is there twice"},
           {"--node-list 'n[1-4]' --node-list 'n[1-3]'",
            "--node-list n[1-4] has 4 nodes and --node-list n[1-3] has 3; expected lists of one length"},
           {"--nodes 4 --topology /nowhere", "/nowhere"}}) {
    const CommandResult r = run_command(job + options);
    EXPECT_EQ(r.exit_code, 64) << options << "\n" << r.all();
    EXPECT_HAS(r.err, part);
  }
}

}  // namespace
}  // namespace octet
