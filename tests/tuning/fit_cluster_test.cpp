#include "src/tuning/fit/cluster_fit.h"

#include <gtest/gtest.h>

#include <random>

#include "src/base/error.h"
#include "src/tuning/cost_model/model.h"
#include "src/tuning/fit/fit_constants.h"
#include "tests/tuning/fit_support.h"

namespace octet {
namespace {

/// Makes up the runs of one shape: what NCCL's model says with these constants, with noise.
class MadeUpCluster {
 public:
  explicit MadeUpCluster(ModelConstants constants) : constants_(constants) {
    profile_ = read_profile("ibm-infiniband");
    machine_ = machine_of(profile_);
  }

  BenchmarkFile run(Collective collective, Algorithm algorithm, Protocol protocol, int nodes, double faster = 1) {
    BenchmarkFile file;
    file.path = fmt::format("{}-{}-{}-{}.txt", name_of(collective), name_of(algorithm), name_of(protocol), nodes);
    file.nccl = to_text(nccl_2_28_9);
    std::normal_distribution<double> normal;
    for (std::int64_t bytes = 1024; bytes <= std::int64_t{8} << 30; bytes *= 2) {
      const auto table = predicted_us(nccl_2_28_9, machine_, constants_, collective, {nodes, 8}, bytes);
      const double us = table.at(static_cast<std::size_t>(algorithm)).at(static_cast<std::size_t>(protocol)) / faster;
      for (int repeat = 0; repeat < 2; ++repeat) {
        file.rows.push_back({collective,
                             algorithm,
                             protocol,
                             {nodes, 8},
                             bytes,
                             us * std::exp(0.01 * normal(random_)),
                             repeat == 1,
                             file.path});
      }
    }
    return file;
  }

  const ClusterProfile& profile() const { return profile_; }

 private:
  ModelConstants constants_;
  ClusterProfile profile_;
  NcclMachine machine_;
  std::mt19937_64 random_{7};
};

constexpr std::pair<Algorithm, Protocol> tried[] = {{Algorithm::ring, Protocol::simple},
                                                    {Algorithm::ring, Protocol::ll128},
                                                    {Algorithm::tree, Protocol::ll},
                                                    {Algorithm::tree, Protocol::ll128},
                                                    {Algorithm::nvls_tree, Protocol::simple}};

std::vector<BenchmarkFile> all_runs(MadeUpCluster& cluster, double faster_tree = 1) {
  std::vector<BenchmarkFile> files;
  for (const int nodes : {4, 8, 16}) {
    for (const auto& [algorithm, protocol] : tried) {
      const bool tree = algorithm == Algorithm::tree && protocol == Protocol::ll128;
      files.push_back(cluster.run(Collective::all_reduce, algorithm, protocol, nodes, tree ? faster_tree : 1));
    }
  }
  return files;
}

TEST(ClusterFit, AClusterThatBehavesAsModelledNeedsNothing) {
  MadeUpCluster cluster(default_constants(nccl_2_28_9));
  const ClusterFit fit = fit_cluster(all_runs(cluster), cluster.profile(), "");
  EXPECT_EQ(fit.tuning.fits.size(), 15U);
  EXPECT_TRUE(fit.tuning.constants.hw_latency.empty()) << fit.constants.front();
  EXPECT_TRUE(fit.tuning.choices.empty()) << fit.tuning.choices.front().reason;
  EXPECT_EQ(fit.tuning.nccl, "2.28.9");
  EXPECT_EQ(fit.tuning.cluster, "ibm-infiniband");
  EXPECT_EQ(fit.tuning.fabric, "infiniband");
}

double hw_latency(const TunedConstants& constants, Algorithm algorithm, Protocol protocol) {
  for (const TunedHwLatency& row : constants.hw_latency) {
    if (row.algorithm == algorithm && row.protocol == protocol) return row.us;
  }
  return -1;
}

TEST(ClusterFit, ASlowerNetworkIsFoundInItsLatencies) {
  ModelConstants constants = default_constants(nccl_2_28_9);
  auto& net = constants.hw_latency.at(static_cast<std::size_t>(LinkKind::net));
  for (auto& of_algorithm : net) {
    for (double& us : of_algorithm) us += 30;
  }
  MadeUpCluster cluster(constants);
  const ClusterFit fit = fit_cluster(all_runs(cluster), cluster.profile(), "2.28.9");
  for (const auto& [algorithm, protocol] : {std::pair{Algorithm::ring, Protocol::simple},
                                            {Algorithm::ring, Protocol::ll128},
                                            {Algorithm::tree, Protocol::ll},
                                            {Algorithm::nvls_tree, Protocol::simple}}) {
    const double truth = net.at(static_cast<std::size_t>(algorithm)).at(static_cast<std::size_t>(protocol));
    EXPECT_NEAR(hw_latency(fit.tuning.constants, algorithm, protocol) / truth, 1, 0.1)
        << name_of(algorithm) << "/" << name_of(protocol);
  }
  // With its constants right the model chooses right.
  EXPECT_TRUE(fit.tuning.choices.empty()) << fit.tuning.choices.front().reason;
}

TEST(ClusterFit, WhatContradictsTheModelIsPinned) {
  MadeUpCluster cluster(default_constants(nccl_2_28_9));
  const ClusterFit fit = fit_cluster(all_runs(cluster, 2.5), cluster.profile(), "");
  ASSERT_FALSE(fit.tuning.choices.empty());
  bool sixteen = false;
  for (const TunedChoice& choice : fit.tuning.choices) {
    EXPECT_EQ(choice.collective, Collective::all_reduce);
    EXPECT_EQ(choice.algorithm, Algorithm::tree);
    EXPECT_EQ(choice.protocol, Protocol::ll128);
    EXPECT_EQ(choice.nodes_to, choice.nodes_from + 1);
    EXPECT_LT(choice.bytes_from, choice.bytes_to);
    EXPECT_LE(choice.bytes_to, (std::int64_t{8} << 30) + 1);
    EXPECT_NE(choice.reason.find("the model's choice"), std::string::npos) << choice.reason;
    // A size at which the model would take NVLSTree (1.4 of the reference: above 22 MiB on 16 nodes).
    sixteen |= choice.nodes_from == 16 && choice.bytes_from < (64 << 20) && choice.bytes_to > (64 << 20);
  }
  EXPECT_TRUE(sixteen);
  // The file that follows is one that the plugin accepts.
  TuningFile tuning = fit.tuning;
  tuning.provenance.created = "2026-01-01T00:00:00Z";
  tuning.provenance.tool = "octet";
  EXPECT_EQ(parse_tuning_file(to_json(tuning), "file").choices.size(), tuning.choices.size());
}

TEST(ClusterFit, WithoutTheModelsChoiceMeasuredNothingIsPinned) {
  MadeUpCluster cluster(default_constants(nccl_2_28_9));
  const std::vector<BenchmarkFile> one{cluster.run(Collective::all_reduce, Algorithm::ring, Protocol::simple, 16, 10)};
  const ClusterFit fit = fit_cluster(one, cluster.profile(), "");
  EXPECT_TRUE(fit.tuning.choices.empty());
  EXPECT_NE(fit.tuning.provenance.notes.back().find("was not measured"), std::string::npos);
}

TEST(ClusterFit, TheLibrarysOwnChoiceIsAReferenceToo) {
  MadeUpCluster cluster(default_constants(nccl_2_28_9));
  std::vector<BenchmarkFile> files{cluster.run(Collective::all_reduce, Algorithm::tree, Protocol::ll128, 16, 1.0)};
  BenchmarkFile library = files.front();
  for (Measurement& row : library.rows) {
    row.algorithm = std::nullopt, row.protocol = std::nullopt;
    row.microseconds *= 2;
  }
  files.push_back(library);
  const ClusterFit fit = fit_cluster(files, cluster.profile(), "");
  ASSERT_FALSE(fit.tuning.choices.empty());
  EXPECT_NE(fit.tuning.choices.front().reason.find("what the library chose"), std::string::npos);
}

TEST(ClusterFit, WhatATunerChoseIsSetAside) {
  MadeUpCluster cluster(default_constants(nccl_2_28_9));
  std::vector<BenchmarkFile> files{cluster.run(Collective::all_reduce, Algorithm::tree, Protocol::ll128, 16)};
  BenchmarkFile library = files.front();
  library.path = "tuned.json";
  for (Measurement& row : library.rows) {
    row.algorithm = std::nullopt, row.protocol = std::nullopt;
    row.microseconds *= 2;
  }
  files.push_back(library);
  EXPECT_FALSE(fit_cluster(files, cluster.profile(), "").tuning.choices.empty()) << "NCCL's own choice is a reference";
  for (BenchmarkFile& file : files) {
    for (Measurement& row : file.rows) row.tuner = "NCCL_TUNER_PLUGIN=octet";
  }
  const ClusterFit fit = fit_cluster(files, cluster.profile(), "");
  EXPECT_TRUE(fit.tuning.choices.empty()) << fit.tuning.choices.front().reason;
  EXPECT_TRUE(has_note(fit, "tuned.json: 48 rows set aside: measured under NCCL_TUNER_PLUGIN=octet, which chose"));
  EXPECT_EQ(fit.tuning.fits.size(), 1U) << "what is forced is as before";
  ASSERT_EQ(fit.tuning.provenance.measurements.size(), 2U);
  EXPECT_EQ(fit.tuning.provenance.measurements[0].rows, 48);
  EXPECT_EQ(fit.tuning.provenance.measurements[1].rows, 0);
}

TEST(ClusterFit, GroupsThatTheFileCannotHoldAreListedWithTheReason) {
  MadeUpCluster cluster(default_constants(nccl_2_28_9));
  std::vector<BenchmarkFile> files(4, cluster.run(Collective::all_reduce, Algorithm::ring, Protocol::ll128, 8));
  for (Measurement& row : files[0].rows) row.protocol = std::nullopt;
  for (Measurement& row : files[1].rows) row.algorithm = std::nullopt;
  for (Measurement& row : files[2].rows) row.algorithm = std::nullopt, row.protocol = std::nullopt;
  files[3].rows.resize(2);
  const ClusterFit fit = fit_cluster(files, cluster.profile(), "");
  EXPECT_TRUE(fit.tuning.fits.empty());
  EXPECT_TRUE(has_note(fit, "all_reduce ring/any, 8 x 8: not in the tuning file: its protocol is not known"));
  EXPECT_TRUE(has_note(fit, "all_reduce any/ll128, 8 x 8: not in the tuning file: its algorithm is not known"));
  EXPECT_TRUE(has_note(fit, "all_reduce as the library chose, 8 x 8: not in the tuning file: no single algorithm"));
  EXPECT_TRUE(has_note(fit, "all_reduce ring/ll128, 8 x 8: not in the tuning file: 2 rows"));
}

TEST(ClusterFit, MeasurementsOfOtherGpusAreTold) {
  MadeUpCluster cluster(default_constants(nccl_2_28_9));
  const auto notes_with = [&](const std::string& gpu) {
    std::vector<BenchmarkFile> runs = {cluster.run(Collective::all_gather, Algorithm::ring, Protocol::simple, 8)};
    runs[0].gpus = {gpu};
    return joined(fit_cluster(runs, cluster.profile(), "").tuning.provenance.notes, "\n");
  };
  const std::string note =
      "all_gather-ring-simple-8.txt: was measured on A100, and ibm-infiniband has H100 SXM: what is fitted need not "
      "hold there";
  EXPECT_NE(notes_with("NVIDIA A100-SXM4-80GB").find(note), std::string::npos) << notes_with("NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(notes_with("NVIDIA H100 80GB HBM3").find("was measured on"), std::string::npos);
  EXPECT_NE(notes_with("Voodoo 2").find("was measured on Voodoo 2, and ibm"), std::string::npos);
  EXPECT_EQ(notes_with("").find("was measured on"), std::string::npos);
}

TEST(ClusterFit, Nccl227KeepsItsConstants) {
  ModelConstants constants = default_constants({2, 27, 7});
  for (double& us : constants.hw_latency.at(static_cast<std::size_t>(LinkKind::net)).at(1)) us += 40;
  MadeUpCluster cluster(constants);
  std::vector<BenchmarkFile> files{cluster.run(Collective::all_reduce, Algorithm::ring, Protocol::simple, 8)};
  files.front().nccl = "2.27.7";
  const ClusterFit fit = fit_cluster(files, cluster.profile(), "");
  EXPECT_TRUE(fit.tuning.constants.hw_latency.empty());
  ASSERT_EQ(fit.constants.size(), 1U);
  EXPECT_NE(fit.constants.front().find("before 2.28"), std::string::npos);
}

TEST(ClusterFit, Nccl230IsFittedAndSaysWhoseChannelsItTook) {
  MadeUpCluster cluster(default_constants(nccl_2_28_9));
  std::vector<BenchmarkFile> files{cluster.run(Collective::all_reduce, Algorithm::ring, Protocol::simple, 8)};
  const auto told = [](const ClusterFit& fit) {
    return std::ranges::count_if(fit.tuning.provenance.notes, [](const std::string& note) {
      return note.find("the channels that 2.29 would search out") != std::string::npos;
    });
  };
  EXPECT_EQ(told(fit_cluster(files, cluster.profile(), "")), 0);
  files.front().nccl = "2.30.7";
  const ClusterFit fit = fit_cluster(files, cluster.profile(), "");
  EXPECT_EQ(fit.tuning.nccl, "2.30.7");
  EXPECT_FALSE(fit.tuning.fits.empty());
  EXPECT_EQ(told(fit), 1);
}

TEST(ClusterFit, AnNcclWithoutACostModelIsFittedWithoutConstantsAndChoices) {
  ModelConstants constants = default_constants(nccl_2_28_9);
  for (double& us : constants.hw_latency.at(static_cast<std::size_t>(LinkKind::net)).at(1)) us += 40;
  MadeUpCluster cluster(constants);
  std::vector<BenchmarkFile> files{cluster.run(Collective::all_reduce, Algorithm::ring, Protocol::simple, 8)};
  const ClusterFit known = fit_cluster(files, cluster.profile(), "");
  EXPECT_TRUE(known.has_model);
  EXPECT_FALSE(known.constants.empty());
  files.front().nccl = "2.31.2";
  const ClusterFit fit = fit_cluster(files, cluster.profile(), "");
  EXPECT_FALSE(fit.has_model);
  EXPECT_EQ(fit.tuning.nccl, "2.31.2");
  ASSERT_EQ(fit.tuning.fits.size(), known.tuning.fits.size());
  EXPECT_EQ(fit.tuning.fits.front().alpha_us, known.tuning.fits.front().alpha_us);
  EXPECT_TRUE(fit.constants.empty() && fit.tuning.constants.empty() && fit.tuning.choices.empty());
  EXPECT_TRUE(has_note(fit, "NCCL 2.31.2: no cost model of it is known here"));
  EXPECT_THROW(fit_cluster(files, cluster.profile(), "2.30.7"), Error);
  EXPECT_THROW(fit_cluster(files, cluster.profile(), "new"), Error);
}

TEST(ClusterFit, VersionsMustAgree) {
  MadeUpCluster cluster(default_constants(nccl_2_28_9));
  std::vector<BenchmarkFile> files{cluster.run(Collective::all_reduce, Algorithm::ring, Protocol::simple, 8)};
  EXPECT_THROW(fit_cluster(files, cluster.profile(), "2.27.7"), Error);
  files.front().nccl.clear();
  EXPECT_THROW(fit_cluster(files, cluster.profile(), ""), Error);
  EXPECT_NO_THROW(fit_cluster(files, cluster.profile(), "2.28.7"));
}

TEST(ClusterFit, RunsOnTwoNodesNameTheSick) {
  MadeUpCluster cluster(default_constants(nccl_2_28_9));
  std::vector<BenchmarkFile> files;
  for (int i = 0; i < 5; ++i) {
    for (int j = i + 1; j < 5; ++j) {
      BenchmarkFile& file =
          files.emplace_back(cluster.run(Collective::all_reduce, Algorithm::ring, Protocol::simple, 2));
      const double slower = i == 1 || j == 1 ? 2.0 : 1.0;
      file.pairs.push_back({fmt::format("n{}", i), fmt::format("n{}", j), 1000 * slower, "all_reduce of 8 bytes"});
    }
  }
  const ClusterFit fit = fit_cluster(files, cluster.profile(), "");
  ASSERT_EQ(fit.sweeps.size(), 1U);
  ASSERT_EQ(fit.sweeps[0].report.nodes.size(), 1U);
  EXPECT_EQ(fit.sweeps[0].report.nodes[0].node, "n1");
  const auto& notes = fit.tuning.provenance.notes;
  EXPECT_NE(std::find(notes.begin(), notes.end(),
                      "node n1 is sick: all its 4 pairs are slow, 2.00 times as long (all_reduce of 8 bytes)"),
            notes.end());
}

TEST(ClusterFit, AFileGivenTwiceCountsOnce) {
  MadeUpCluster cluster(default_constants(nccl_2_28_9));
  std::vector<BenchmarkFile> files{cluster.run(Collective::all_reduce, Algorithm::ring, Protocol::simple, 2)};
  files.front().hash = "1";
  files.push_back(files.front());
  files.back().path = "copy.json";
  const ClusterFit fit = fit_cluster(files, cluster.profile(), "");
  EXPECT_EQ(fit.tuning.provenance.measurements.size(), 1U);
  EXPECT_EQ(fit.groups.at(0).points.size(), files.front().rows.size());
  EXPECT_EQ(fit.tuning.provenance.notes.at(0),
            fmt::format("copy.json: has the content of {}, and counts once", files.front().path));
}

TEST(ClusterFit, ASweepOfTooFewNodesIsNoted) {
  MadeUpCluster cluster(default_constants(nccl_2_28_9));
  std::vector<BenchmarkFile> files{cluster.run(Collective::all_reduce, Algorithm::ring, Protocol::simple, 2)};
  const auto noted = [&] {
    const auto notes = fit_cluster(files, cluster.profile(), "").tuning.provenance.notes;
    return std::find(notes.begin(), notes.end(),
                     "all_reduce of 8 bytes: too few pairs to judge: fewer than 4 met 3 others") != notes.end();
  };
  files.front().pairs = {{"n0", "n1", 1000, "all_reduce of 8 bytes"}};
  EXPECT_FALSE(noted()) << "one run on two nodes is no sweep";
  files.front().pairs.push_back({"n0", "n2", 1000, "all_reduce of 8 bytes"});
  EXPECT_TRUE(noted());
}

}  // namespace
}  // namespace octet
