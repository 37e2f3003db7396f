#include "src/cluster/job_script.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "src/base/error.h"
#include "src/cluster/environment/job_environment.h"
#include "tests/data/support.h"
#include "tests/support/expect_has.h"

namespace octet {
namespace {

JobScript job_on(const std::string& cluster, std::int64_t nodes) {
  JobScript job;
  job.profile = read_profile(cluster);
  job.name = "llama-70b";
  job.run_dir = "/scratch/runs/llama-70b";
  job.run_config = job.run_dir + "/submitted.yaml";
  job.working_dir = "/home/me";
  job.octet = "/opt/octet/bin/octet";
  job.octet_train = "/opt/octet/bin/octet-train";
  job.nodes = nodes;
  job.time = job.profile.slurm.time;
  job.lead_seconds = stop_lead_seconds(job.profile.launcher.min_lead_seconds, 0);
  job.slurm = {24, 5};
  job.environment = job_environment(job.profile, job.run_dir);
  return job;
}

void expect_not_in(const std::string& part, const std::string& text) {
  EXPECT_EQ(text.find(part), std::string::npos) << part << " in:\n" << text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    if (c == '\n') {
      out.emplace_back();
    } else {
      out.back().push_back(c);
    }
  }
  return out;
}

/// The lines that differ, by their place.
std::string difference(const std::string& expected, const std::string& found) {
  const auto a = lines_of(expected), b = lines_of(found);
  std::string out;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i < a.size() && i < b.size() && a[i] == b[i]) continue;
    if (i < a.size()) out += fmt::format("{}: - {}\n", i + 1, a[i]);
    if (i < b.size()) out += fmt::format("{}: + {}\n", i + 1, b[i]);
  }
  return out;
}

/// All of a script but its body, which is a file of the repository as it stands. OCTET_WRITE_GOLDEN=1 writes the file.
void compare(const std::string& name, const JobScript& job) {
  const std::string path = fmt::format("{}/tests/cluster/golden/{}.txt", OCTET_SOURCE_DIR, name);
  const std::string found = render(job, "");
  if (std::getenv("OCTET_WRITE_GOLDEN") != nullptr) test::write_bytes(path, found);
  const std::string expected = test::read_bytes(path);
  EXPECT_TRUE(expected == found) << path << " is not what is written now (OCTET_WRITE_GOLDEN=1 writes it):\n"
                                 << difference(expected, found);
}

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, ScriptsOf128To512Gpus) {
  for (const std::int64_t nodes : {16, 32, 64}) {
    const JobScript job = job_on(GetParam(), nodes);
    EXPECT_EQ(job.ranks(), 8 * nodes);
    compare(fmt::format("{}-{}", GetParam(), nodes), job);
  }
}
INSTANTIATE_TEST_SUITE_P(Clusters, Golden,
                         testing::Values("aws-p5-efa", "dgx-h100-infiniband", "grand-teton", "ibm-infiniband",
                                         "ibm-roce"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(Golden, OfVirtualNodesWithEveryOption) {
  JobScript job = job_on("local", 2);
  job.spares = 1;
  job.slurm = {22, 5};
  job.exclude = "v[3-4]";
  job.after = "17";
  job.profile.slurm.account = "a project";
  job.profile.slurm.qos = "high";
  job.profile.slurm.constraint = "h100&ib";
  job.profile.slurm.reservation = "r1";
  job.profile.slurm.options = {"--mail-type=END"};
  job.profile.software.modules = {"cuda/13.0", "mpich"};
  job.profile.launcher.srun_options = {"--network job vni"};
  job.octet_in_step = "octet";
  job.container_options = {"--container-image=/images/octet.sqsh", "--container-mounts=/my data:/data"};
  job.train_options = {"--train.steps", "20", "--optimizer.no_decay", "[norm, tok_embeddings]"};
  compare("local-every-option", job);
}

TEST(JobScript, EndsWithTheBodyAsItStands) {
  const std::string text = render(job_on("local", 2), "echo \"{}\" %\n");
  EXPECT_TRUE(text.starts_with("#!/bin/bash\n"));
  EXPECT_TRUE(text.ends_with("done\n\necho \"{}\" %\n"));
}

TEST(JobScript, AsksOnlyForWhatTheReleaseHas) {
  JobScript job = job_on("dgx-h100-infiniband", 48);
  EXPECT_HAS(render(job, ""), "#SBATCH --segment=24\n");
  expect_not_in("SRUN_CPUS_PER_TASK", render(job, ""));
  job.slurm = {23, 11};
  expect_not_in("--segment", render(job, ""));
  job.slurm = {22, 5};
  expect_not_in("--segment", render(job, ""));
  EXPECT_HAS(render(job, ""), "export SRUN_CPUS_PER_TASK=28");
}

TEST(JobScript, SegmentsNeedNoMoreBlocksThanTheJob) {
  JobScript job = job_on("dgx-h100-infiniband", 64);
  EXPECT_HAS(render(job, ""), "#SBATCH --segment=8\n");  // 3 of 31 take 24 each
  for (const std::int64_t nodes : {125, 126}) {          // more than 4 blocks of 31, and there are but 127 nodes
    expect_not_in("--segment", render(job_on("dgx-h100-infiniband", nodes), ""));
  }
  job.profile.nodes.count = 128;
  job.profile.slurm.leaf_nodes = 32;
  const std::pair<std::int64_t, int> segments[] = {{7, 7}, {64, 32}, {105, 15}, {110, 10}, {114, 6}, {126, 2}};
  for (const auto& [nodes, size] : segments) {
    job.nodes = nodes;
    EXPECT_HAS(render(job, ""), fmt::format("#SBATCH --segment={}\n", size));
  }
  for (const std::int64_t nodes : {1, 97, 125}) {
    job.nodes = nodes;
    expect_not_in("--segment", render(job, ""));
  }
}

TEST(JobScript, UnsetsWhatTheProfileLeavesOut) {
  JobScript job = job_on("ibm-infiniband", 16);
  EXPECT_HAS(render(job, ""), "export NCCL_NET_PLUGIN=none ");
  job.profile.environment.variables = {{.name = "NCCL_NET_PLUGIN", .value = "", .reason = "a plugin", .unset = true}};
  job.environment = job_environment(job.profile, job.run_dir);
  EXPECT_HAS(render(job, ""), "\nunset NCCL_NET_PLUGIN  # a plugin\n");
  expect_not_in("export NCCL_NET_PLUGIN", render(job, ""));
}

TEST(JobScript, HasTheLinesThatAShellTakesForItself) {
  for (const char* cluster : {"aws-p5-efa", "dgx-h100-infiniband", "grand-teton", "ibm-infiniband", "ibm-roce"}) {
    JobScript job = job_on(cluster, 16);
    job.profile.environment.variables.push_back({.name = "NCCL_DEBUG", .value = "", .reason = "less", .unset = true});
    job.environment = job_environment(job.profile, job.run_dir);
    const std::string lines = environment_lines(job.profile, job.environment);
    EXPECT_HAS(lines, "export NCCL_NET=");
    EXPECT_HAS(lines, "unset NCCL_DEBUG  # less\n");
    EXPECT_HAS(render(job, ""), lines);
  }
}

TEST(JobScript, NeverHidesGpusFromNccl) {
  for (const char* cluster : {"aws-p5-efa", "dgx-h100-infiniband", "grand-teton", "ibm-infiniband", "ibm-roce"}) {
    const std::string text = render(job_on(cluster, 16), "");
    expect_not_in("gpus-per-task", text);
    expect_not_in("gpu-bind", text);
    expect_not_in("CUDA_VISIBLE_DEVICES", text);
  }
}

TEST(JobScript, AsksForTheTypeOfGpuThatTheProfileNames) {
  JobScript job = job_on("dgx-h100-infiniband", 2);
  EXPECT_HAS(render(job, ""), "#SBATCH --gpus-per-node=8\n");
  job.profile.gpus.slurm_type = "h100";
  EXPECT_HAS(render(job, ""), "#SBATCH --gpus-per-node=h100:8\n");
  job.profile.gpus.request = GpuRequest::gres;
  EXPECT_HAS(render(job, ""), "#SBATCH --gres=gpu:h100:8\n");
  job.profile.gpus.request = GpuRequest::none;
  expect_not_in("#SBATCH --g", render(job, ""));
}

TEST(JobScript, QuotesPathsOfAnyKind) {
  JobScript job = job_on("local", 1);
  job.run_dir = "/my runs/100% it's";
  const std::string text = render(job, "");
  EXPECT_HAS(text, "#SBATCH --output=\"/my runs/100%% it's/job-%j.out\"\n");
  EXPECT_HAS(text, "run_dir='/my runs/100% it'\\''s'\n");
  job.run_dir = "/a\n#SBATCH --uid=0";
  EXPECT_THROW(render(job, ""), Error);
}

TEST(JobScript, LeadFollowsTheMeasuredCheckpoint) {
  ClusterProfile p = read_profile("local");
  p.launcher.min_lead_seconds = 300;
  EXPECT_EQ(stop_lead_seconds(p.launcher.min_lead_seconds, 0), 300);
  EXPECT_EQ(stop_lead_seconds(p.launcher.min_lead_seconds, 120), 300);
  EXPECT_EQ(stop_lead_seconds(p.launcher.min_lead_seconds, 120.2), 301);
  EXPECT_EQ(stop_lead_seconds(p.launcher.min_lead_seconds, 600), 1260);
}

}  // namespace
}  // namespace octet
