// Limits of NCCL's bandwidth table from made-up measurements of clusters that have other ones.
#include "src/tuning/cost_model/tuned_constants.h"
#include "src/tuning/fit/bandwidths.h"

#include <gtest/gtest.h>

#include <random>

#include "src/tuning/fit/cluster_fit.h"
#include "src/tuning/fit/fit_constants.h"
#include "tests/tuning/fit_support.h"
#include "tests/tuning/plugin/fake_world.h"

namespace octet {
namespace {

constexpr auto hopper = TunedGeneration::hopper;

struct Pair {
  Algorithm algorithm;
  Protocol protocol;
};
constexpr Pair limited[] = {{Algorithm::ring, Protocol::ll},     {Algorithm::ring, Protocol::ll128},
                            {Algorithm::tree, Protocol::ll},     {Algorithm::tree, Protocol::ll128},
                            {Algorithm::tree, Protocol::simple}, {Algorithm::nvls_tree, Protocol::simple}};

class Cluster {
 public:
  explicit Cluster(ModelConstants constants) : constants_(constants) {}

  /// 1 % of noise; of ten rows one is wrong by a factor of 3 to 10. `rate`: the part of its bandwidth that this run
  /// has.
  void run(Pair pair, int nodes, double rate = 1, std::int64_t most = std::int64_t{16} << 30) {
    BenchmarkFile& file = files_.emplace_back();
    file.path = "made-up.txt", file.nccl = to_text(nccl_2_28_9);
    const auto a = static_cast<std::size_t>(pair.algorithm), p = static_cast<std::size_t>(pair.protocol);
    for (std::int64_t bytes = 1024; bytes <= most; bytes *= 2) {
      const auto cost =
          costs_at(nccl_2_28_9, machine_, constants_, Collective::all_reduce, {nodes, 8}, bytes).at(a).at(p);
      const double us = cost.latency_us + static_cast<double>(bytes) / (1e3 * cost.algorithm_gbs * rate);
      for (int repeat = 0; repeat < 4; ++repeat) {
        const double wrong = uniform_(random_) < .1 ? 3 + 7 * uniform_(random_) : 1;
        file.rows.push_back({Collective::all_reduce,
                             pair.algorithm,
                             pair.protocol,
                             {nodes, 8},
                             bytes,
                             us * wrong * std::exp(.01 * normal_(random_)),
                             false,
                             file.path});
      }
    }
  }
  ClusterFit fit() const { return fit_cluster(files_, profile_, ""); }

 private:
  ModelConstants constants_;
  ClusterProfile profile_ = read_profile("ibm-infiniband");
  NcclMachine machine_ = machine_of(profile_);
  std::vector<BenchmarkFile> files_;
  std::mt19937_64 random_{11};
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
};

double& entry(ModelConstants& constants, TunedLimit limit, TunedGeneration row, int nodes) {
  return limit_table(constants, limit).at(static_cast<std::size_t>(row)).at(static_cast<std::size_t>(nodes - 1));
}

std::string all_notes(const ClusterFit& fit) {
  std::string text;
  for (const std::string& note : fit.tuning.provenance.notes) text += note + "\n";
  return text;
}

struct Truth {
  TunedLimit limit;
  TunedGeneration row;
  int nodes;
  double gbs;
};
const Truth truths[] = {{TunedLimit::tree, hopper, 3, 26},       {TunedLimit::tree_ll128, hopper, 3, 19},
                        {TunedLimit::ring_ll128, hopper, 3, 24}, {TunedLimit::nvls_tree, hopper, 3, 31},
                        {TunedLimit::nvls_tree, hopper, 2, 40},  {TunedLimit::ll, TunedGeneration::volta, 3, 14}};

ClusterFit other_bandwidths() {
  ModelConstants constants = default_constants(nccl_2_28_9);
  for (const Truth& truth : truths) entry(constants, truth.limit, truth.row, truth.nodes) = truth.gbs;
  Cluster cluster(constants);
  for (const int nodes : {2, 4, 8, 16}) {
    for (const Pair pair : limited) cluster.run(pair, nodes);
  }
  return cluster.fit();
}

TEST(FitBandwidths, OtherLimitsAreRecoveredWithinFivePercent) {
  const ClusterFit fit = other_bandwidths();
  EXPECT_EQ(fit.tuning.constants.bandwidth.size(), std::size(truths)) << all_notes(fit);
  ModelConstants found = with_tuned(default_constants(nccl_2_28_9), fit.tuning.constants);
  for (const Truth& truth : truths) {
    EXPECT_NEAR(entry(found, truth.limit, truth.row, truth.nodes) / truth.gbs, 1, .05)
        << name_of(truth.limit) << " on " << truth.nodes << "\n"
        << all_notes(fit);
  }
  EXPECT_TRUE(fit.tuning.constants.hw_latency.empty()) << "bandwidth is not taken for latency";
  EXPECT_TRUE(has_note(fit, "bandwidth of tree_ll128, hopper, 3 node(s) and more: ")) << all_notes(fit);
}

TEST(FitBandwidths, ThePluginWritesThemIntoNcclsTable) {
  const ClusterFit fit = other_bandwidths();
  const test::Folder folder;
  test::StandInNccl::set_version(22809);
  const std::string file = folder.path() + "/tuning.json";
  write_tuning_file(file, fit.tuning);
  const test::TuningFileSet set(file);
  const test::Library plugin(OCTET_TUNER_PLUGIN);
  const test::StandInNccl nccl;
  tuner_abi::Constants constants = test::as_abi(default_constants(nccl_2_28_9));
  const test::Tuner tuner(plugin, 5, 64, 8, nccl.logger(), &constants);
  EXPECT_NEAR(constants.per_channel_max_tree_bws[2][2] / 26, 1, .05);
  EXPECT_NEAR(constants.per_channel_max_tree_ll128_bws[2][2] / 19, 1, .05);
  EXPECT_NEAR(constants.per_channel_max_ring_ll128_bws[2][2] / 24, 1, .05);
  EXPECT_NEAR(constants.per_channel_max_nvls_tree_bws[2][2] / 31, 1, .05);
  EXPECT_NEAR(constants.per_channel_max_nvls_tree_bws[2][1] / 40, 1, .05);
  EXPECT_NEAR(constants.ll_max_bws[0][2] / 14, 1, .05);
  EXPECT_EQ(constants.per_channel_max_tree_bws[2][1], 41.4) << "two nodes are as modelled";
}

TEST(FitBandwidths, AClusterAsModelledNeedsNone) {
  Cluster cluster(default_constants(nccl_2_28_9));
  for (const int nodes : {1, 2, 8}) {
    for (const Pair pair : limited) {
      if (nodes > 1 || pair.algorithm != Algorithm::nvls_tree) cluster.run(pair, nodes);
    }
  }
  cluster.run({Algorithm::ring, Protocol::simple}, 2);
  const ClusterFit fit = cluster.fit();
  EXPECT_TRUE(fit.tuning.constants.bandwidth.empty()) << all_notes(fit);
  EXPECT_TRUE(fit.constants.empty()) << all_notes(fit);
}

TEST(FitBandwidths, WithoutLargeSizesNothingIsSaid) {
  Cluster cluster(default_constants(nccl_2_28_9));
  cluster.run({Algorithm::nvls_tree, Protocol::simple}, 8, .5, std::int64_t{64} << 20);
  EXPECT_TRUE(cluster.fit().tuning.constants.bandwidth.empty());
}

TEST(FitBandwidths, WhatTheTableCannotExpressIsSaidAndNotWritten) {
  Cluster no_limit(default_constants(nccl_2_28_9)), too_fast(default_constants(nccl_2_28_9)),
      apart(default_constants(nccl_2_28_9)), bounds_others(default_constants(nccl_2_28_9));
  no_limit.run({Algorithm::ring, Protocol::simple}, 2, .7);
  too_fast.run({Algorithm::tree, Protocol::ll128}, 8, 2);
  apart.run({Algorithm::tree, Protocol::ll}, 8, .5);  // both by the one limit of ll
  apart.run({Algorithm::ring, Protocol::ll}, 8, .8);
  bounds_others.run({Algorithm::tree, Protocol::simple}, 8, .4);
  bounds_others.run({Algorithm::tree, Protocol::ll128}, 8);
  for (const auto& [cluster, message] : {std::pair{&no_limit, "ring/simple, 2 x 8: "},
                                         {&too_fast, "no tree_ll128 limit gives it"},
                                         {&apart, "no ll limit gives it together with the other groups"},
                                         {&bounds_others, "would bound it too"}}) {
    const ClusterFit fit = cluster->fit();
    EXPECT_TRUE(fit.tuning.constants.bandwidth.empty()) << message;
    EXPECT_TRUE(has_note(fit, message)) << message << " in " << all_notes(fit);
  }
  EXPECT_TRUE(has_note(no_limit.fit(), "NCCL's table has no limit for this algorithm and protocol"));
}

TEST(FitBandwidths, ChoicesFollowTheNewLimits) {
  EXPECT_TRUE(other_bandwidths().tuning.choices.empty()) << "with its constants right the model chooses right";
}

}  // namespace
}  // namespace octet
