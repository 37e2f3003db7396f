#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>

#include "src/base/error.h"
#include "src/tuning/contention/collectives.h"
#include "src/tuning/contention/engine/engine_process.h"
#include "src/tuning/contention/segments.h"
#include "src/tuning/contention/simulate.h"
#include "src/tuning/contention/trees.h"
#include "tests/support/error_of.h"
#include "tests/support/expect_has.h"

namespace octet {
namespace {

/// `gpus` GPUs and as many cards a node, each card with a leaf of its own; cards and their wires have 50 GB/s.
FlowNetwork shape_with(int gpus) {
  FlowNetwork shape;
  shape.gpus = shape.cards = gpus;
  shape.nvlink_gbs = 1000;
  shape.card_gbs = shape.wire_gbs = 50;
  shape.latency_us = 5;
  return shape;
}

Workload gather(double bytes, MeshShape mesh = {}) {
  return {.collective = Collective::all_gather, .bytes = static_cast<std::int64_t>(bytes), .mesh = mesh};
}

/// Microseconds of a ring that has its links for itself: `steps` blocks over each hop, of `block_us` each at the rate
/// of the slowest link, and `latency_us` from node to node. With k ranks a node a block passes a node's k GPUs while k
/// others are sent, which hides latency below (k-1) block_us; with one rank a node this is steps x (block + latency).
double ring_us(int steps, int ranks_per_node, double block_us, double latency_us) {
  const int nodes_passed = (steps - 1) / ranks_per_node;
  const double of_node = std::max(ranks_per_node * block_us, block_us + latency_us);
  return nodes_passed * of_node + (steps - nodes_passed * ranks_per_node) * block_us + latency_us;
}

double us_of(const FlowNetwork& shape, const std::vector<NodePlace>& nodes, const Workload& workload) {
  return simulate(traffic_of(shape, nodes, workload)).us;
}

/// Nodes of two leaves in turn: every hop of a ring crosses.
std::vector<NodePlace> in_turn(const FlowNetwork& shape, int nodes) {
  std::vector<NodePlace> out;
  const std::vector<NodePlace> all = numbered_nodes(shape, 2 * shape.leaf_nodes);
  for (int i = 0; i < nodes / 2; ++i) {
    out.push_back(all[static_cast<std::size_t>(i)]);
    out.push_back(all[static_cast<std::size_t>(i) + static_cast<std::size_t>(shape.leaf_nodes)]);
  }
  return out;
}

TEST(Contention, RingOfOneRailIsItsClosedForm) {
  const FlowNetwork shape = shape_with(1);
  for (const int nodes : {2, 5, 16}) {
    for (const double bytes : {64e3, 1e6, 64e6}) {
      const double closed = (nodes - 1) * (bytes / nodes / 50e3 + 5);
      EXPECT_NEAR(us_of(shape, numbered_nodes(shape, nodes), gather(bytes)), closed, 1e-3 * closed)
          << nodes << " nodes, " << bytes << " bytes";
      EXPECT_NEAR(ring_us(nodes - 1, 1, bytes / nodes / 50e3, 5), closed, 1e-9 * closed);
    }
  }
}

TEST(Contention, RingsOfSeveralRailsAreTheirClosedForm) {
  const FlowNetwork shape = shape_with(8);
  for (const int nodes : {2, 5}) {
    for (const double bytes : {64e3, 8e6, 512e6}) {
      const int ranks = 8 * nodes;
      const double block_us = bytes / ranks / 8 / 50e3, latency_us = 5 + 7 * shape.nvlink_latency_us;
      for (const Collective collective : {Collective::reduce_scatter, Collective::all_reduce}) {
        Workload w = gather(bytes);
        w.collective = collective;
        const int steps = (collective == Collective::all_reduce ? 2 : 1) * (ranks - 1);
        const double closed = ring_us(steps, 8, block_us, latency_us);
        EXPECT_NEAR(us_of(shape, numbered_nodes(shape, nodes), w), closed, 0.05 * closed)
            << name_of(collective) << ", " << nodes << " nodes, " << bytes << " bytes";
      }
    }
  }
}

TEST(Contention, GroupsOfAMeshWithStages) {
  const MeshShape mesh{.pp = 2, .dp_replicate = 2, .tp = 2};
  using Groups = std::vector<std::vector<int>>;
  EXPECT_EQ(groups_of(Dimension::pp, mesh, 8), (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  EXPECT_EQ(groups_of(Dimension::dp_replicate, mesh, 16),
            (Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}, {8, 12}, {9, 13}, {10, 14}, {11, 15}}));
  EXPECT_EQ(groups_of(Dimension::dp_shard, mesh, 16),
            (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}}));
  EXPECT_EQ(groups_of(Dimension::dp, mesh, 8), (Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(groups_of(Dimension::tp, mesh, 8), (Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_THROW(groups_of(Dimension::pp, mesh, 12), Error);
}

TEST(Contention, MessagesBetweenStagesShareWhatIsBetweenThem) {
  const auto messages = [](MeshShape mesh) {
    return Workload{.collective = {}, .bytes = 32'000'000, .dimension = Dimension::pp, .mesh = mesh};
  };
  FlowNetwork shape = shape_with(8);
  const double alone = 32e6 / 50e3 + 5;
  EXPECT_NEAR(us_of(shape, numbered_nodes(shape, 4), messages({.pp = 4, .tp = 8})), 2 * alone - 5, 1)
      << "a stage between two others sends to both by one card";
  EXPECT_NEAR(us_of(shape, numbered_nodes(shape, 2), messages({.pp = 2, .tp = 8})), alone, 1);
  EXPECT_NEAR(us_of(shape, numbered_nodes(shape, 1), messages({.pp = 2, .tp = 4})), 32e6 / 1000e3, 2) << "over NVLink";
  shape.leaf_nodes = 2;
  shape.rails = false;
  shape.oversubscription = 4;
  const Workload across = messages({.pp = 2, .tp = 8});
  EXPECT_NEAR(us_of(shape, in_turn(shape, 2), across), 4 * 32e6 / 50e3 / 2 + 5, 30)
      << "8 messages through a quarter of the leaf's 16 wires";
  EXPECT_THROW(us_of(shape, numbered_nodes(shape, 2), gather(1e6, {.pp = 2, .tp = 16})), Error);
  Workload wrong = across;
  wrong.dimension = Dimension::dp_shard;
  EXPECT_THROW(check(wrong), Error);
}

TEST(Contention, LatencyIsPaidANodeAndNotAStep) {
  // 16 nodes of 8: 15 times from node to node, where a ring of 128 separate nodes would pay 127 times.
  const FlowNetwork shape = shape_with(8);
  const double us = us_of(shape, numbered_nodes(shape, 16), gather(128 * 8));
  EXPECT_GE(us, 15 * 12.0);
  EXPECT_LE(us, 17 * 12.0);
}

TEST(Contention, RingsShareTheNvLinksOfANode) {
  FlowNetwork shape = shape_with(8);
  shape.nvlink_gbs = 200;  // 8 rings of 50 GB/s want 400
  const std::vector<NodePlace> nodes = numbered_nodes(shape, 4);
  shape.latency_us = shape.nvlink_latency_us = 0.001;
  const double closed = 31 * (512e6 / 32 / 8) / (200e3 / 8);
  EXPECT_NEAR(us_of(shape, nodes, gather(512e6)), closed, 0.01 * closed);
  // With tp = 8 a group has one rank a node, and no NVLink.
  EXPECT_NEAR(us_of(shape, nodes, gather(512e6, {.dp_replicate = 1, .tp = 8})), 3 * 128e6 / 50e3, 1e-2 * 7680);
}

TEST(Contention, GroupsWithinANodeHaveItsNvLinks) {
  const FlowNetwork shape = shape_with(8);
  Workload w = gather(64e6, {.dp_replicate = 1, .tp = 8});
  w.dimension = Dimension::tp;
  EXPECT_NEAR(us_of(shape, numbered_nodes(shape, 2), w), 7 * (8e6 / 1000e3 + 1), 1e-2);
}

TEST(Contention, TwoToOneLeafHalvesARingThatCrossesAtEveryHop) {
  FlowNetwork shape = shape_with(1);
  shape.leaf_nodes = 8;
  shape.latency_us = 0.01;
  const double free = us_of(shape, in_turn(shape, 16), gather(256e6));
  shape.oversubscription = 2;
  // 8 flows of 50 GB/s up, 200 GB/s of uplinks.
  EXPECT_NEAR(us_of(shape, in_turn(shape, 16), gather(256e6)) / free, 2.0, 0.02);
  // Leaf by leaf one flow goes up.
  EXPECT_NEAR(us_of(shape, numbered_nodes(shape, 16), gather(256e6)) / free, 1.0, 0.02);
}

TEST(Contention, ASplitJobSharesWhatJoinsThePods) {
  FlowNetwork shape = shape_with(4);
  shape.leaf_nodes = 4;
  shape.pod_nodes = 8;
  shape.pod_oversubscription = 32;  // 8 nodes x 4 cards x 50 GB/s / 32 = 50 GB/s between pods
  shape.latency_us = shape.nvlink_latency_us = 0.01;
  const std::vector<NodePlace> all = numbered_nodes(shape, 16);
  const std::vector<NodePlace> together(all.begin(), all.begin() + 8);
  std::vector<NodePlace> split(all.begin(), all.begin() + 4);
  split.insert(split.end(), all.end() - 4, all.end());
  // 4 rings, each of which crosses once each way: 12.5 GB/s in place of 50.
  const double free = us_of(shape, together, gather(256e6));
  EXPECT_NEAR(us_of(shape, split, gather(256e6)) / free, 4.0, 0.04);
  // One group alone for each GPU of a node (tp = 4) does the same: four groups of one ring.
  const Workload groups = gather(256e6, {.dp_replicate = 1, .tp = 4});
  EXPECT_NEAR(us_of(shape, split, groups) / us_of(shape, together, groups), 4.0, 0.04);
}

TEST(Contention, ALostRailCostsItsPartOfTheRings) {
  FlowNetwork shape = shape_with(8);
  shape.latency_us = shape.nvlink_latency_us = 0.01;
  std::vector<NodePlace> nodes = numbered_nodes(shape, 4);
  const double whole = us_of(shape, nodes, gather(512e6));
  nodes[2].lost_cards = 1;
  EXPECT_NEAR(us_of(shape, nodes, gather(512e6)) / whole, 8.0 / 7, 0.01);
  nodes[2].lost_cards = 2;
  EXPECT_NEAR(us_of(shape, nodes, gather(512e6)) / whole, 8.0 / 6, 0.01);
}

TEST(Contention, WithoutItsOwnCardAGroupSharesAnothers) {
  FlowNetwork shape = shape_with(8);
  shape.latency_us = 0.01;
  const Workload groups = gather(64e6, {.dp_replicate = 1, .tp = 8});
  std::vector<NodePlace> nodes = numbered_nodes(shape, 4);
  const double whole = us_of(shape, nodes, groups);
  nodes[2].lost_cards = 1;
  EXPECT_NEAR(us_of(shape, nodes, groups) / whole, 2.0, 0.02);
}

TEST(Contention, ReplicatedGroupsShareTheUplinks) {
  // HSDP on 8 nodes: two replicas of 4 nodes, each on a leaf. Shards are gathered within a leaf; gradients are summed
  // between the two, by 4 nodes x 2 cards at once over uplinks of half their rate.
  FlowNetwork shape = shape_with(2);
  shape.leaf_nodes = 4;
  shape.latency_us = shape.nvlink_latency_us = 0.01;
  const std::vector<NodePlace> nodes = numbered_nodes(shape, 8);
  const Workload shards = gather(64e6, {.dp_replicate = 2, .tp = 1});
  Workload replicas = shards;
  replicas.collective = Collective::all_reduce;
  replicas.dimension = Dimension::dp_replicate;
  const double shards_free = us_of(shape, nodes, shards), replicas_free = us_of(shape, nodes, replicas);
  EXPECT_NEAR(replicas_free, 2 * 32e6 / 50e3, 0.01 * replicas_free);
  shape.oversubscription = 2;
  EXPECT_NEAR(us_of(shape, nodes, shards) / shards_free, 1.0, 0.01);
  EXPECT_NEAR(us_of(shape, nodes, replicas) / replicas_free, 2.0, 0.02);
}

TEST(Contention, TreesUseWhatTheirLinksHave) {
  const FlowNetwork shape = shape_with(2);
  Workload w = gather(256e6);
  w.collective = Collective::all_reduce;
  w.algorithm = Algorithm::tree;
  for (const int nodes : {2, 7, 16}) {
    const Traffic traffic = traffic_of(shape, numbered_nodes(shape, nodes), w);
    const double least = link_loads(traffic).front().busy_us;
    const double us = simulate(traffic).us;
    EXPECT_GE(us, 0.999 * least) << nodes;
    EXPECT_LE(us, 1.25 * least) << nodes;  // besides: filling and draining
    // What a card sends of a vector whose half is its own: in both trees half of that up, and in one down to each of
    // two children; of two nodes one has a child in one tree, the other in the other.
    EXPECT_NEAR(least, (nodes == 2 ? 1 : 2) * 128e6 / 50e3, 1) << nodes;
  }
}

TEST(Contention, SmallMessagesAreQuickerByTrees) {
  const FlowNetwork shape = shape_with(1);
  Workload w = gather(1e3);
  w.collective = Collective::all_reduce;
  const double ring = us_of(shape, numbered_nodes(shape, 32), w);
  w.algorithm = Algorithm::tree;
  EXPECT_LT(us_of(shape, numbered_nodes(shape, 32), w), ring / 4);
}

TEST(Contention, InnerNodesOfOneTreeAreLeavesOfTheOther) {
  for (int nodes = 2; nodes < 40; ++nodes) {
    const auto trees = two_trees(nodes);
    int inner_in_both = 0;
    for (int i = 0; i < nodes; ++i) {
      inner_in_both += !trees[0].children_of(i).empty() && !trees[1].children_of(i).empty() ? 1 : 0;
      for (const Tree& tree : trees) {
        EXPECT_LE(tree.children_of(i).size(), 2U) << nodes;
        int at = i, up = 0;
        while (at != tree.root && up <= nodes) {
          at = tree.parent[static_cast<std::size_t>(at)];
          ++up;
        }
        EXPECT_LE(up, 1 + std::ceil(std::log2(nodes))) << nodes << ", from " << i;
      }
    }
    EXPECT_LE(inner_in_both, 1) << nodes;
  }
}

TEST(Contention, ExtrapolatedIsNearlyTheWhole) {
  FlowNetwork shape = shape_with(8);
  shape.leaf_nodes = 4;
  shape.oversubscription = 2;
  for (const double bytes : {1e6, 1e9}) {
    const Traffic traffic = traffic_of(shape, in_turn(shape, 8), gather(bytes));
    const Simulation whole = simulate(traffic), part = simulate(traffic, {.most_blocks = 64 * 32, .progress = {}});
    EXPECT_EQ(whole.simulated_steps, 63);
    EXPECT_EQ(part.simulated_steps, 32);
    EXPECT_NEAR(part.us, whole.us, 0.03 * whole.us);
  }
}

/// Half of the endpoints on each of two kinds of leaves, in turn: with 2:1 the ring has half of its rate.
double cost_of_turns(int endpoints, std::int64_t most_blocks, Simulation& simulation) {
  FlowNetwork shape = shape_with(1);
  shape.leaf_nodes = endpoints / 2;
  shape.oversubscription = 2;
  const auto start = std::chrono::steady_clock::now();
  const double bytes = 1e6 * endpoints;
  simulation = simulate(traffic_of(shape, in_turn(shape, endpoints), gather(bytes)),
                        {.most_blocks = most_blocks, .progress = {}});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ::testing::Test::RecordProperty("seconds", std::to_string(seconds));
  std::printf("%d endpoints, %d of %d steps: %.1f s\n", endpoints, simulation.simulated_steps, simulation.steps,
              seconds);
  return simulation.us / ((endpoints - 1) * (1e6 / 50e3 + 5));
}

TEST(Contention, FiveHundredEndpointsWhole) {
  Simulation s;
  EXPECT_NEAR(cost_of_turns(512, 512 * 511, s), (40.0 + 5) / 25, 0.01);
  EXPECT_EQ(s.blocks, 512 * 511);
}

TEST(Contention, FourThousandEndpointsByTheirFirstSteps) {
  Simulation s;
  EXPECT_NEAR(cost_of_turns(4096, 80'000, s), (40.0 + 5) / 25, 0.01);
  EXPECT_EQ(s.steps, 4095);
  EXPECT_EQ(s.simulated_steps, 19);
}

TEST(Contention, ProgressIsAllThatArrives) {
  const FlowNetwork shape = shape_with(2);
  const Traffic traffic = traffic_of(shape, numbered_nodes(shape, 4), gather(8e6));
  std::int64_t told = 0;
  SimulateOptions options;
  options.progress = [&](std::int64_t bytes) { told += bytes; };
  simulate(traffic, options);
  const std::int64_t all = simulated_bytes(traffic, options);
  EXPECT_EQ(all, 2 * 4 * 7 * 500'000);
  EXPECT_GT(told, 0.98 * static_cast<double>(all));
  EXPECT_LE(told, all + 200);  // rounded a report
}

void expect_refused(const std::string& part, const std::function<void()>& call) {
  EXPECT_HAS(test::error_of(call), part);
}

/// The child finds nobody who reads its result, which is more than a pipe holds, and ends.
TEST(Contention, AnErrorOfTheProgressLeavesNoProcessBehind) {
  const Traffic traffic{.links = {{"wire", 50}},
                        .lanes = {{.from = 0, .to = 1, .path = {0}, .bytes = 1e6, .steps = 20'000, .feeders = {}}}};
  for (const auto disposition : {SIG_DFL, SIG_IGN}) {
    const auto before = std::signal(SIGPIPE, disposition);  // the child inherits it
    expect_refused("enough", [&] { run_engine(traffic, [](std::int64_t) { throw usage_error("test", "enough"); }); });
    std::signal(SIGPIPE, before);
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
  }
}

TEST(Contention, WhatIsNotSimulatedIsRefused) {
  const FlowNetwork shape = shape_with(8);
  std::vector<NodePlace> nodes = numbered_nodes(shape, 2);
  Workload w = gather(1e6);
  w.collective = Collective::broadcast;
  expect_refused("collective \"broadcast\" is not simulated; expected all_gather, reduce_scatter, all_reduce",
                 [&] { traffic_of(shape, nodes, w); });
  w = gather(1e6);
  w.algorithm = Algorithm::tree;
  expect_refused("all_gather by tree is not simulated", [&] { traffic_of(shape, nodes, w); });
  expect_refused("0 bytes", [&] { traffic_of(shape, nodes, gather(0)); });
  expect_refused("does not divide 16 ranks", [&] { traffic_of(shape, nodes, gather(1e6, {.dp_replicate = 3})); });
  expect_refused("groups of dp_shard have one rank",
                 [&] { traffic_of(shape, nodes, gather(1e6, {.dp_replicate = 2, .tp = 8})); });
  nodes[1].lost_cards = 8;
  expect_refused("node n2 has lost 8 of 8 cards", [&] { traffic_of(shape, nodes, gather(1e6)); });
}

}  // namespace
}  // namespace octet
