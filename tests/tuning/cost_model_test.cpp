#include "src/tuning/cost_model/model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "src/base/error.h"
#include "tests/support/mib.h"

namespace octet {
namespace {

using test::mib;

AlgorithmCost cost_of(int nodes, Algorithm algorithm, Protocol protocol, const NcclVersion& version = {}) {
  return algorithm_costs(version, NcclMachine{}, default_constants(version), Collective::all_reduce, {nodes, 8})
      .at(static_cast<std::size_t>(algorithm))
      .at(static_cast<std::size_t>(protocol));
}

struct Line {
  int nodes;
  Algorithm algorithm;
  Protocol protocol;
  double us, gbs;  // 0: not listed
};

// The reference: 8 GPUs and 8 x 400 Gb/s a node, Intel, evaluated from the source of 2.28.9.
TEST(CostModel, LatencyAndBandwidthAreThoseEvaluatedFromTheSource) {
  const Line lines[] = {
      {16, Algorithm::tree, Protocol::ll, 55, 10},          {16, Algorithm::tree, Protocol::ll128, 100, 116},
      {16, Algorithm::tree, Protocol::simple, 176, 144},    {16, Algorithm::nvls_tree, Protocol::simple, 192, 183},
      {16, Algorithm::ring, Protocol::ll128, 560, 148},     {16, Algorithm::ring, Protocol::simple, 1190, 194},
      {32, Algorithm::tree, Protocol::ll, 65, 0},           {32, Algorithm::tree, Protocol::ll128, 116, 0},
      {32, Algorithm::nvls_tree, Protocol::simple, 234, 0}, {32, Algorithm::ring, Protocol::simple, 2400, 0},
      {64, Algorithm::tree, Protocol::ll, 75, 0},           {64, Algorithm::tree, Protocol::ll128, 134, 0},
      {64, Algorithm::nvls_tree, Protocol::simple, 276, 0}, {64, Algorithm::ring, Protocol::simple, 4819, 0},
  };
  for (const Line& line : lines) {
    const AlgorithmCost cost = cost_of(line.nodes, line.algorithm, line.protocol);
    const std::string name = std::string(name_of(line.algorithm)) + "/" + std::string(name_of(line.protocol));
    EXPECT_EQ(cost.excluded, "") << name;
    EXPECT_NEAR(cost.latency_us, line.us, line.us * .01) << name << " at " << line.nodes;
    if (line.gbs > 0) {
      EXPECT_NEAR(cost.algorithm_gbs, line.gbs, line.gbs * .025) << name << " at " << line.nodes;
    }
  }
}

TEST(CostModel, BusBandwidthIsThatEvaluatedFromTheSource) {
  struct Row {
    std::int64_t bytes;
    double gbs[3];  // 16, 32, 64 nodes
  };
  const Row rows[] = {{16 * mib, {128, 121, 114}},
                      {64 * mib, {239, 222, 208}},
                      {256 * mib, {322, 314, 307}},
                      {1024 * mib, {352, 350, 348}},
                      {8192 * mib, {370, 362, 362}}};
  const NcclVersion version;
  const ModelConstants constants = default_constants(version);
  for (const Row& row : rows) {
    for (int i = 0; i < 3; ++i) {
      const CommShape shape{16 << i, 8};
      const auto table = predicted_us(version, NcclMachine{}, constants, Collective::all_reduce, shape, row.bytes);
      EXPECT_NEAR(bus_gbs(Collective::all_reduce, shape, row.bytes, choose(table).us), row.gbs[i], row.gbs[i] * .01)
          << row.bytes << " bytes on " << shape.nodes;
    }
  }
}

// --- what runs -------------------------------------------------------------------------------------------------------

std::string runnable(const NcclMachine& machine, Collective collective, CommShape shape,
                     const NcclVersion& version = {}) {
  const AlgorithmCosts costs = algorithm_costs(version, machine, default_constants(version), collective, shape);
  std::string names;
  for (std::size_t a = 0; a < algorithm_count; ++a) {
    for (std::size_t p = 0; p < protocol_count; ++p) {
      if (!costs.at(a).at(p).excluded.empty()) continue;
      names += fmt::format("{}/{} ", name_of(static_cast<Algorithm>(a)), name_of(static_cast<Protocol>(p)));
    }
  }
  return names;
}

const std::string rings = "ring/ll ring/ll128 ring/simple ";
const std::string trees = "tree/ll tree/ll128 tree/simple ";

TEST(Availability, WithoutSharpGatheringBetweenNodesIsRingAlone) {
  const NcclMachine machine;
  EXPECT_EQ(runnable(machine, Collective::all_gather, {8, 8}), rings);
  EXPECT_EQ(runnable(machine, Collective::reduce_scatter, {8, 8}), rings);
  EXPECT_EQ(runnable(machine, Collective::broadcast, {8, 8}), rings);
  EXPECT_EQ(runnable(machine, Collective::all_reduce, {8, 8}), trees + rings + "nvls_tree/simple ");
}

TEST(Availability, OneNodeHasNvlsAndNoNvlsTree) {
  EXPECT_EQ(runnable({}, Collective::all_reduce, {1, 8}), trees + rings + "nvls/simple ");
  EXPECT_EQ(runnable({}, Collective::all_gather, {1, 8}), rings + "nvls/simple ");
}

// ncclNvlsInit at the tags of NCCL: gpuCount <= 2 returns without NVLS up to v2.28.3-1, gpuCount < 2 from v2.28.7-1 on.
TEST(Availability, TwoGpusANodeHaveNvlsFrom2And28And7On) {
  for (const NcclVersion& version : {NcclVersion{2, 27, 3}, NcclVersion{2, 27, 7}, NcclVersion{2, 28, 3}}) {
    EXPECT_EQ(runnable({}, Collective::all_reduce, {1, 2}, version), trees + rings) << to_text(version);
    EXPECT_EQ(runnable({}, Collective::all_reduce, {4, 2}, version), trees + rings) << to_text(version);
    EXPECT_EQ(runnable({}, Collective::all_reduce, {1, 3}, version), trees + rings + "nvls/simple ");
  }
  for (const NcclVersion& version : {NcclVersion{2, 28, 7}, NcclVersion{2, 28, 9}, NcclVersion{2, 29, 7}}) {
    EXPECT_EQ(runnable({}, Collective::all_reduce, {1, 2}, version), trees + rings + "nvls/simple ")
        << to_text(version);
    EXPECT_EQ(runnable({}, Collective::all_reduce, {4, 2}, version), trees + rings + "nvls_tree/simple ")
        << to_text(version);
  }
}

TEST(Availability, OneRankANodeHasPatAndNoNvls) {
  EXPECT_EQ(runnable({}, Collective::all_gather, {8, 1}), rings + "pat/simple ");
  EXPECT_EQ(runnable({}, Collective::all_reduce, {8, 1}), trees + rings);
}

TEST(Availability, SharpAddsWhatReducesInTheNetwork) {
  NcclMachine machine;
  machine.sharp = true;
  EXPECT_EQ(runnable(machine, Collective::all_reduce, {8, 8}),
            trees + rings + "collnet_direct/simple collnet_chain/simple nvls/simple nvls_tree/simple ");
  EXPECT_EQ(runnable(machine, Collective::all_gather, {8, 8}), rings + "collnet_direct/simple nvls/simple ");
  machine.nics = 4;
  EXPECT_EQ(runnable(machine, Collective::all_gather, {8, 8}), rings) << "not every GPU has a NIC";
}

TEST(Availability, Ll128IsLeftOutWhereItIsNotSafe) {
  NcclMachine machine;
  machine.ll128 = false;
  EXPECT_EQ(runnable(machine, Collective::all_gather, {8, 8}), "ring/ll ring/simple ");
  EXPECT_EQ(runnable(machine, Collective::all_gather, {1, 8}), rings + "nvls/simple ") << "no network in between";
}

// --- versions --------------------------------------------------------------------------------------------------------

// 2.27 halves NVLink SHARP trees between more than two nodes, so that it runs rings where 2.28 runs those trees.
TEST(Versions, Of2And27HasSlowerNvlsTrees) {
  const NcclVersion old{2, 27, 7};
  const AlgorithmCost before = cost_of(16, Algorithm::nvls_tree, Protocol::simple, old);
  EXPECT_DOUBLE_EQ(before.algorithm_gbs, 8 * 24 * 5. / 6);
  EXPECT_DOUBLE_EQ(before.latency_us, 25 + 2 * 4 * 14);
  const auto choice_of = [](const NcclVersion& version) {
    return choose(predicted_us(version, {}, default_constants(version), Collective::all_reduce, {16, 8}, 2048 * mib));
  };
  EXPECT_EQ(choice_of(old).algorithm, Algorithm::ring);
  EXPECT_EQ(choice_of({}).algorithm, Algorithm::nvls_tree);
}

TEST(Versions, HopperIsTheSameIn2And29) {
  const NcclVersion last{2, 29, 7};
  for (const int nodes : {1, 2, 64}) {
    for (const Collective collective : {Collective::all_reduce, Collective::all_gather}) {
      for (const std::int64_t bytes : {std::int64_t{8}, mib, 64 * mib, 8192 * mib}) {
        EXPECT_EQ(predicted_us(last, {}, default_constants(last), collective, {nodes, 8}, bytes),
                  predicted_us({}, {}, default_constants({}), collective, {nodes, 8}, bytes));
      }
    }
  }
  EXPECT_NE(default_constants(last), default_constants({})) << "Blackwell's differ";
}

// src/graph/tuning.cc of v2.29.7-1 and v2.30.7-1, symbol by symbol: one constant of Blackwell differs, the rest is of
// nodes with several kinds of GPUs and of a plugin of SHARP without chains.
TEST(Versions, Of2And30HasTheCostsOf2And29ButForOneConstant) {
  const NcclVersion recent{2, 30, 7}, before{2, 29, 7};
  ModelConstants constants = default_constants(recent);
  double& nvls_tree = constants.nvls_tree_max.at(static_cast<std::size_t>(GpuGeneration::blackwell)).at(2);
  EXPECT_EQ(nvls_tree, 80);
  nvls_tree = 43.8;
  EXPECT_EQ(constants, default_constants(before));
  for (const int nodes : {1, 2, 64}) {
    EXPECT_EQ(predicted_us(recent, {}, default_constants(recent), Collective::all_reduce, {nodes, 8}, 64 * mib),
              predicted_us(before, {}, default_constants(before), Collective::all_reduce, {nodes, 8}, 64 * mib));
  }
}

// --- corrections -----------------------------------------------------------------------------------------------------

TEST(CostModel, GroupedCollectivesPayARingsLatencyEachAndOthersByTens) {
  const auto us = [](int pipe_ops, Algorithm algorithm) {
    return predicted_us({}, {}, default_constants({}), Collective::all_reduce, {2, 8}, 8, pipe_ops)
        .at(static_cast<std::size_t>(algorithm))
        .at(0);
  };
  EXPECT_NEAR(us(20, Algorithm::ring), 20 * us(1, Algorithm::ring), .01);
  EXPECT_NEAR(us(10, Algorithm::tree), us(1, Algorithm::tree), .01);
  EXPECT_NEAR(us(11, Algorithm::tree), 2 * us(1, Algorithm::tree), .01);
}

// Plateau: 64 bytes for each of 16 channels and 16 ranks.
TEST(CostModel, RingsBetweenNodesGetSlowerFromTheirPlateauOn) {
  const auto us = [](std::int64_t bytes) {
    return predicted_us({}, {}, default_constants({}), Collective::all_reduce, {2, 8}, bytes).at(1).at(2);
  };
  EXPECT_NEAR(us(64 * 16 * 16) / us(64 * 16 * 16 - 1), 1.4, .001);
}

TEST(CostModel, ShapesThatNoMachineHasAreRefused) {
  const ModelConstants constants = default_constants({});
  for (const CommShape shape : {CommShape{1, 1}, CommShape{0, 8}, CommShape{2, 16}}) {
    EXPECT_THROW(algorithm_costs({}, {}, constants, Collective::all_reduce, shape), Error);
  }
  EXPECT_THROW(predicted_us({}, {}, constants, Collective::all_reduce, {2, 8}, 0), Error);
}

TEST(Choose, RefusesATableOfDisabledEntries) {
  AlgorithmTable table;
  for (auto& row : table) row.fill(-1);
  EXPECT_THROW(choose(table), Error);
  table.at(2).at(2) = 0;  // how a tuner asks for one
  EXPECT_EQ(choose(table).algorithm, Algorithm::collnet_direct);
}

}  // namespace
}  // namespace octet
