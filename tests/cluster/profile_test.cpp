#include "src/cluster/profile.h"
#include "src/cluster/environment/job_findings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "src/base/installation.h"
#include "src/base/options/yaml.h"
#include "src/cluster/environment/job_environment.h"
#include "src/cluster/network_shape.h"
#include "tests/data/support.h"
#include "tests/support/expect_has.h"

namespace octet {
namespace {

using test::read_bytes;
using test::TempFolder;
using test::write_bytes;

const std::string small =
    "description: a test\n"
    "fabric: roce\n"
    "nodes:\n"
    "  memory_gib: 64\n"
    "gpus:\n"
    "  per_node: 4\n"
    "  memory_gib: 80\n"
    "nics:\n"
    "  per_node: 4\n"
    "cpu:\n"
    "  cores: 32\n"
    "  threads_per_core: 2\n";

/// The message of the error of reading this profile.
std::string refusal(const std::string& text, const std::vector<std::pair<std::string, std::string>>& overrides = {}) {
  const TempFolder folder;
  write_bytes(folder / "c.yaml", text);
  return test::error_of([&] { read_profile(folder / "c.yaml", overrides); });
}

/// The blocks of YAML of a page.
std::vector<std::string> yaml_blocks(const std::string& page) {
  const std::string begin = "\n```yaml\n", text = read_bytes(page);
  std::vector<std::string> out;
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
    const std::size_t from = at + begin.size();
    out.push_back(text.substr(from, text.find("\n```", from) + 1 - from));
  }
  return out;
}

/// Each of them is to be added to a profile that has none of its sections.
TEST(Profile, WhatThePagesOfTuningAddToAProfileCanBeRead) {
  const TempFolder folder;
  const std::string base = read_bytes(OCTET_SOURCE_DIR "/configs/clusters/ibm-infiniband.yaml");
  std::size_t blocks = 0;
  for (const auto& page : std::filesystem::directory_iterator(OCTET_SOURCE_DIR "/docs/tuning")) {
    if (page.path().extension() != ".md") continue;
    for (const std::string& block : yaml_blocks(page.path())) {
      ++blocks;
      write_bytes(folder / "c.yaml", base + block);
      EXPECT_NO_THROW(read_profile(folder / "c.yaml")) << page.path() << "\n" << block;
    }
  }
  EXPECT_GE(blocks, 2U);
}

TEST(Profile, ContainersAndStepsAreSaidInOneWay) {
  const auto with = [](const char* key, const char* value) {
    return refusal(small, {{"container.image", "/images/octet.sqsh"}, {key, value}});
  };
  EXPECT_HAS(with("software.container", "[in, image]"),
             "software.container = in image: container.image says how programs start");
  EXPECT_HAS(refusal(small, {{"container.mounts", "[/a:/b]"}}),
             "container.image = \"\": the other keys of container have no effect without it");
  EXPECT_HAS(with("container.mounts", "[/a]"), "container.mounts = \"/a\": expected SOURCE:TARGET");
  EXPECT_HAS(with("container.workdir", "work"), "container.workdir = \"work\": expected an absolute path");
  EXPECT_HAS(
      refusal(small, {{"container.image", "i"}, {"container.runtime", "pyxis"}, {"container.options", "[--mem=0]"}}),
      "container.options = \"--mem=0\": expected an option of pyxis");
  EXPECT_HAS(refusal(small, {{"launcher.srun_options", "[--cpu-bind=cores]"}}),
             "launcher.srun_options = \"--cpu-bind=cores\": --cpu-bind fights the launch: use cpu.bind");
  EXPECT_HAS(
      refusal(small, {{"launcher.srun_options", "[--container-image=x]"}}),
      "launcher.srun_options = \"--container-image=x\": --container-image fights the launch: use container.image");
}

TEST(Profile, BindingHasOldNames) {
  const TempFolder folder;
  write_bytes(folder / "c.yaml", small);
  const auto text = [&](const char* bind) {
    const std::string all = to_yaml(read_profile(folder / "c.yaml", {{"cpu.bind", bind}}));
    return all.substr(all.find("  bind: "), 12);
  };
  for (const char* name : {"auto", "cores"}) EXPECT_EQ(text(name), "  bind: auto") << name;
  for (const char* name : {"off", "none"}) EXPECT_EQ(text(name).substr(0, 11), "  bind: off") << name;
}

TEST(Profile, EveryOneOfTheRepositoryReadsBack) {
  const auto names = shared_names("configs/clusters", ".yaml");
  for (const char* name : {"aws-p5-efa", "dgx-h100-infiniband", "grand-teton", "ibm-infiniband", "ibm-roce", "local"}) {
    EXPECT_NE(std::ranges::find(names, name), names.end()) << name;
  }
  for (const std::string& name : names) {
    const ClusterProfile profile = read_profile(name);
    EXPECT_EQ(profile.name, name);
    ClusterProfile again;
    Schema schema;
    declare_profile(schema, again);
    read_yaml_text(schema, to_yaml(profile), "again");
    EXPECT_EQ(to_yaml(again), to_yaml(profile));
  }
}

TEST(Profile, PublishedClustersHaveThePublishedFigures) {
  for (const char* name : {"aws-p5-efa", "dgx-h100-infiniband", "grand-teton", "ibm-infiniband", "ibm-roce"}) {
    const ClusterProfile p = read_profile(name);
    EXPECT_EQ(p.gpus.per_node, 8) << name;
    EXPECT_EQ(p.nics.per_node * p.nics.gbps, 3200) << name;  // Gb/s a node: 400 a GPU
    EXPECT_EQ(p.ranks_per_node(), 8) << name;
    EXPECT_TRUE(p.nodes.count == 0 || p.nodes.count >= 64) << name;  // 512 GPUs
  }
}

TEST(Profile, NetworksHaveThePublishedShape) {
  const NetworkShape vela = network_shape(read_profile("ibm-infiniband"), 64);
  EXPECT_EQ(vela.leaf_groups, 2);  // of two scalable units
  EXPECT_EQ(vela.leaves_a_group, 8);
  EXPECT_EQ(vela.leaf_down_gbps, 32 * 400);
  EXPECT_EQ(vela.leaf_up_gbps, 32 * 400);
  EXPECT_EQ(vela.leaf_group_of(33), 1);
  EXPECT_EQ(vela.pods, 1);
  const NetworkShape meta = network_shape(read_profile("grand-teton"), 400);
  EXPECT_EQ(meta.leaf_groups, 200);
  EXPECT_EQ(meta.leaves_a_group, 1);
  EXPECT_EQ(meta.leaf_group_of(3), 1);
  EXPECT_EQ(meta.leaf_down_gbps, 16 * 400);
  EXPECT_EQ(meta.pod_of(384), 1);
  EXPECT_DOUBLE_EQ(meta.pod_up_gbps, 384 * 8 * 400 / 7.0);
  EXPECT_EQ(network_shape(read_profile("ibm-roce"), 6).leaf_groups, 1);
  EXPECT_HAS(test::error_of([] { network_shape(read_profile("local"), 4); }), "nics.per_node is 0");
}

TEST(Profile, ErrorsNameFileLineAndKey) {
  EXPECT_HAS(refusal("description: a\nfabrik: roce\n"), "c.yaml:2: unknown key fabrik");
  EXPECT_HAS(refusal("description: a\nfabrik: roce\n"), "nearest: fabric");
  EXPECT_HAS(refusal("description: a\nfabric: none\nnodes:\n  memory_gib: many\n"), "c.yaml:4: nodes.memory_gib");
  EXPECT_HAS(refusal("description: a\nfabric: rose\n"), "c.yaml:2: fabric = \"rose\"");
  EXPECT_HAS(refusal("description: a\nfabric: none\nnodes:\n  memory_gib: 4\n"), "cpu.cores");
  EXPECT_HAS(refusal(small + "environment:\n  variables:\n    - {name: A, value: b}\n"), "environment.variables");
}

TEST(Profile, RefusesWhatNoClusterCouldBe) {
  EXPECT_HAS(refusal(small.substr(0, small.find("cpu:")) + "# one more line\ncpu:\n  cores: 3\n"),
             "c.yaml:12: cpu.cores = 3");
  EXPECT_HAS(refusal(small, {{"fabric", "ethernet"}}), "nics.per_node");
  EXPECT_HAS(refusal(small, {{"gpus.memory_gib", "2"}}), "gpus.memory_gib");
  EXPECT_HAS(refusal(small, {{"gpus.slurm_type", "h100:8"}}), "expected letters, digits");
  EXPECT_HAS(refusal(small, {{"gpus.slurm_type", "h100"}, {"gpus.request", "none"}}), "has no effect");
  EXPECT_HAS(refusal(small, {{"launcher.ranks_per_node", "2"}}), "launcher.ranks_per_node = 2");
  EXPECT_HAS(refusal(small, {{"gpus.per_node", "0"}}), "launcher.ranks_per_node = 0");
  EXPECT_HAS(refusal(small, {{"fabric", "efa"}, {"nics.hca", "[mlx5_0]"}}), "nics.hca");
  EXPECT_HAS(refusal(small, {{"nics.per_node", "1"}, {"network.rails", "true"}}), "network.rails");
  EXPECT_HAS(refusal(small, {{"network.oversubscription", "2"}}), "network.oversubscription = 2");
  EXPECT_HAS(refusal(small, {{"network.oversubscription", "0.5"}}), "expected number >= 1");
  EXPECT_HAS(refusal(small, {{"network.pod_oversubscription", "7"}}), "network.pod_oversubscription");
  EXPECT_HAS(refusal(small, {{"network.leaf_nodes", "4"}, {"network.pod_nodes", "6"}}),
             "multiple of network.leaf_nodes = 4");
  EXPECT_HAS(refusal(small, {{"fabric", "ethernet"}, {"nics.per_node", "0"}, {"network.leaf_nodes", "4"}}),
             "nics.per_node = 0");
  EXPECT_HAS(refusal(small, {{"slurm.time", "soon"}}), "slurm.time");
  EXPECT_HAS(refusal(small, {{"slurm.topology", "block"}}), "slurm.leaf_nodes");
  EXPECT_HAS(refusal(small, {{"slurm.leaf_nodes", "4"}}), "slurm.leaf_nodes");
  EXPECT_HAS(refusal(small, {{"slurm.options", "[rm]"}}), "slurm.options");
  EXPECT_HAS(refusal(small, {{"slurm.options", "[--nodes=4]"}}), "--nodes fights the job: use --nodes");
  EXPECT_HAS(refusal(small, {{"slurm.options", "[-a 1-4]"}}), "--array fights the job");
  EXPECT_HAS(refusal(small, {{"slurm.options", "[\"--comment=a\\nb\"]"}}), "expected an option like");
  EXPECT_HAS(refusal(small, {{"nics.hca", "[mlx5_0, mlx5_1]"}}),
             "nics.hca = mlx5_0, mlx5_1: are 2 devices, expected nics.per_node = 4");
  EXPECT_HAS(refusal(small, {{"slurm.switch_wait_minutes", "4"}}), "slurm.switch_wait_minutes");
  EXPECT_HAS(
      refusal(small, {{"environment.variables", "[{name: A, value: b, reason: c}, {name: A, value: d, reason: e}]"}}),
      "is there twice");
  EXPECT_HAS(refusal(small, {{"environment.variables", "[{name: A, value: b, unset: true, reason: c}]"}}),
             "has a value and is unset");
  EXPECT_HAS(refusal(small, {{"environment.variables", "[{name: 1A, value: b, reason: c}]"}}), "name of a variable");
  EXPECT_HAS(refusal(small, {{"storage.file_systems", "[{path: a, kind: nfs}]"}}), "absolute path");
}

/// The profile `small` with these values, which is read.
ClusterProfile accepted(const std::vector<std::pair<std::string, std::string>>& overrides) {
  const TempFolder folder;
  write_bytes(folder / "c.yaml", small);
  return read_profile(folder / "c.yaml", overrides);
}

TEST(Profile, DevicesAreNamedOnceAndByTheirNamesAlone) {
  const auto cards = [](const char* names) { return refusal(small, {{"nics.hca", names}}); };
  EXPECT_EQ(accepted({{"nics.hca", "[mlx5_0, mlx5_1, mlx5_2, mlx5_10]"}}).nics.hca[3], "mlx5_10");
  EXPECT_HAS(cards("[mlx5_0, mlx5_1, mlx5_10, mlx5_10]"), "nics.hca = mlx5_10: is there twice, expected once");
  EXPECT_HAS(cards("[=mlx5_0, mlx5_1, mlx5_2, mlx5_3]"),
             "nics.hca = \"=mlx5_0\": found \"=\", expected the name alone: no = or ^ before it, no port behind it; "
             "another selection is NCCL_IB_HCA in environment.variables");
  EXPECT_HAS(cards("[^mlx5_0, mlx5_1, mlx5_2, mlx5_3]"), "found \"^\"");
  EXPECT_HAS(cards("[\"mlx5_0:1\", mlx5_1, mlx5_2, mlx5_3]"), "found \":\"");
  EXPECT_HAS(cards("[\"mlx5_0,mlx5_1\", mlx5_1, mlx5_2, mlx5_3]"), "found \",\"");
  EXPECT_HAS(cards("[mlx5_0 mlx5_1, mlx5_1, mlx5_2, mlx5_3]"), "found \" \"");
  EXPECT_HAS(cards("[\"\", mlx5_1, mlx5_2, mlx5_3]"), "found nothing");
  const auto frontend = [](const char* name) { return refusal(small, {{"nics.frontend", name}}); };
  EXPECT_EQ(accepted({{"nics.frontend", "bond0.12,eth0"}}).nics.frontend, "bond0.12,eth0");
  EXPECT_HAS(frontend("=eth0"), "nics.frontend = \"=eth0\": found \"=\"");
  EXPECT_HAS(frontend("^docker"), "another selection is NCCL_SOCKET_IFNAME in environment.variables");
}

// Each is a number in the unit below, or of a whole node.
TEST(Profile, SizesAndRatesThatNoMachineHasAreRefused) {
  EXPECT_HAS(refusal(small, {{"nics.gbps", "3200"}}), "nics.gbps");
  EXPECT_HAS(refusal(small, {{"nics.gbps", "3200"}}), "<= 1600");
  EXPECT_HAS(refusal(small, {{"gpus.memory_gib", "81559"}}), "<= 1024");
  EXPECT_HAS(refusal(small, {{"nodes.memory_gib", "2097152"}}), "<= 65536");
  EXPECT_EQ(accepted({{"nics.gbps", "800"}, {"gpus.memory_gib", "288"}, {"nodes.memory_gib", "6144"}}).nics.gbps, 800);
}

TEST(Profile, SaysAtOnceWhatItRefuses) {
  const std::string all = refusal(
      "description: a\nfabric: infiniband\nnodes:\n  memory_gib: 64\ngpus:\n  per_node: 8\ncpu:\n  cores: 32\n"
      "slurm:\n  topology: block\n");
  EXPECT_HAS(all, "3 keys are refused:\n  default: gpus.memory_gib = 0: expected more than");
  EXPECT_HAS(all, "\n  default: nics.per_node = 0: expected at least 1 with fabric = infiniband");
  EXPECT_HAS(all, "\n  default: slurm.leaf_nodes = 0: expected the nodes of a block");
}

/// Names and texts stand in comments of the job's script, where a line of its own would be an order.
TEST(Profile, RefusesLineBreaksInWhatTheScriptQuotes) {
  const TempFolder folder;
  const std::string path = folder / "c\n#SBATCH --uid=0.yaml";
  write_bytes(path, small);
  EXPECT_HAS(test::error_of([&] { read_profile(path); }), "\"c\\x0A#SBATCH --uid=0\": found a line break");
  for (const char* key : {"value", "reason", "review"}) {
    std::string text = "[{name: A, value: b, reason: c, review: \"2.30\"}]";
    const std::size_t at = text.find(": ", text.find(key)) + 2;
    text.replace(at, text.find_first_of(",}", at) - at, "\"x\\ny\"");
    EXPECT_HAS(refusal(small, {{"environment.variables", text}}), "environment.variables = A: found a line break");
  }
}

TEST(Profile, OverridesComeFromTheCommandLine) {
  const TempFolder folder;
  write_bytes(folder / "c.yaml", small);
  const ClusterProfile p = read_profile(folder / "c.yaml", {{"slurm.account", "project"}});
  EXPECT_EQ(p.slurm.account, "project");
  EXPECT_EQ(p.cpus_per_rank(), 16);
  EXPECT_HAS(refusal(small, {{"slurm.acount", "x"}}), "nearest: slurm.account");
  const std::string unknown = test::error_of([] { read_profile("grand-tetons"); });
  EXPECT_HAS(unknown, "nearest: grand-teton ");
  EXPECT_HAS(unknown, "ibm-roce");
}

TEST(Profile, AKeyIsGivenOnce) {
  std::vector<std::string> words = {"--cluster.cpu.cores", "4", "run.yaml", "--cluster.nics.gbps=100"};
  const ProfileOverrides both = {{"cpu.cores", "4"}, {"nics.gbps", "100"}};
  EXPECT_EQ(take_profile_overrides(words), both);
  EXPECT_EQ(words, std::vector<std::string>{"run.yaml"});
  words = {"--cluster.cpu.cores", "4", "--cluster.cpu.cores=4"};
  EXPECT_HAS(test::error_of([&] { take_profile_overrides(words); }),
             "command line: --cluster.cpu.cores is given twice, expected once");
}

TEST(Profile, FindsTheFileSystemOfAPath) {
  ClusterProfile p;
  p.file_systems = {{.path = "/", .kind = "local", .advice = ""},
                    {.path = "/fsx", .kind = "lustre", .advice = "", .locks = false}};
  EXPECT_EQ(p.file_system_of("/fsx/runs")->kind, "lustre");
  EXPECT_EQ(p.file_system_of("/fsx")->kind, "lustre");
  EXPECT_EQ(p.file_system_of("/fsx2/runs")->kind, "local");
  p.file_systems.erase(p.file_systems.begin());
  EXPECT_EQ(p.file_system_of("/home"), nullptr);
}

/// The value of a variable, or "-".
std::string value_of(const std::vector<EnvironmentValue>& values, const std::string& name) {
  const auto found = std::ranges::find(values, name, &EnvironmentValue::name);
  return found == values.end() ? "-" : found->value;
}

TEST(Environment, FollowsTheFabric) {
  const auto of = [](const std::string& name) { return job_environment(read_profile(name), "/runs/a"); };
  EXPECT_EQ(value_of(of("ibm-infiniband"), "NCCL_NET"), "IB");
  EXPECT_EQ(value_of(of("ibm-infiniband"), "NCCL_IB_QPS_PER_CONNECTION"), "-");
  EXPECT_TRUE(value_of(of("ibm-infiniband"), "NCCL_IB_HCA").starts_with("=mlx5_0,mlx5_1,"));
  EXPECT_EQ(value_of(of("ibm-roce"), "NCCL_IB_QPS_PER_CONNECTION"), "16");
  EXPECT_EQ(value_of(of("ibm-roce"), "NCCL_IB_RETRY_CNT"), "-");  // published as 10, and at most 7 is valid
  EXPECT_EQ(value_of(of("grand-teton"), "NCCL_PXN_DISABLE"), "1");
  EXPECT_EQ(value_of(of("aws-p5-efa"), "FI_PROVIDER"), "efa");
  EXPECT_EQ(value_of(of("aws-p5-efa"), "NCCL_IB_HCA"), "-");
  EXPECT_EQ(value_of(of("local"), "NCCL_NET"), "-");
  for (const char* name : {"aws-p5-efa", "dgx-h100-infiniband", "grand-teton", "ibm-infiniband", "ibm-roce"}) {
    EXPECT_EQ(value_of(of(name), "UCX_TLS"), "tcp,self,sm") << name;  // off the fabric
    EXPECT_EQ(value_of(of(name), "NCCL_ALGO"), "-") << name;          // the tuner's matter
    EXPECT_EQ(value_of(of(name), "NCCL_PROTO"), "-") << name;
  }
}

TEST(Environment, FollowsTheContainer) {
  const ProfileOverrides apptainer = {{"container.image", "/octet.sif"}}, words = {{"software.container", "[in, it]"}},
                         pyxis = {{"container.image", "/octet.sqsh"}, {"container.runtime", "pyxis"}};
  const auto of = [](const char* name, const ProfileOverrides& keys) {
    return job_environment(read_profile(name, keys), "/runs/a");
  };
  for (const auto& keys : {apptainer, words}) {
    for (const char* name : {"ibm-infiniband", "local"}) {
      EXPECT_EQ(value_of(of(name, keys), "UCX_TLS"), "tcp,self") << name;
      EXPECT_EQ(value_of(of(name, keys), "NVIDIA_VISIBLE_DEVICES"), "-") << name;
    }
  }
  EXPECT_EQ(value_of(of("ibm-infiniband", apptainer), "UCX_NET_DEVICES"), "eth0");
  EXPECT_EQ(value_of(of("ibm-infiniband", pyxis), "UCX_TLS"), "tcp,self,sm");  // a node's ranks share a namespace
  EXPECT_EQ(value_of(of("ibm-infiniband", pyxis), "NVIDIA_VISIBLE_DEVICES"), "all");
  EXPECT_EQ(value_of(of("ibm-infiniband", pyxis), "NVIDIA_DRIVER_CAPABILITIES"), "compute,utility");
  EXPECT_EQ(value_of(of("local", pyxis), "UCX_TLS"), "-");
  EXPECT_EQ(value_of(of("local", pyxis), "NVIDIA_VISIBLE_DEVICES"), "-");  // it has no GPUs
  ProfileOverrides own = pyxis;
  own.emplace_back("environment.variables", "[{name: NVIDIA_DRIVER_CAPABILITIES, value: all, reason: ours}]");
  EXPECT_EQ(value_of(of("ibm-infiniband", own), "NVIDIA_DRIVER_CAPABILITIES"), "all");
}

TEST(Environment, TheProfileWins) {
  ClusterProfile p = read_profile("ibm-roce");
  p.environment.variables = {{"NCCL_IB_QPS_PER_CONNECTION", "4", "measured"}, {"OWN", "x", "because"}};
  const auto values = job_environment(p, "/runs/a");
  EXPECT_EQ(value_of(values, "NCCL_IB_QPS_PER_CONNECTION"), "4");
  EXPECT_EQ(std::ranges::count(values, "NCCL_IB_QPS_PER_CONNECTION", &EnvironmentValue::name), 1);
  EXPECT_EQ(value_of(values, "OWN"), "x");
  EXPECT_TRUE(environment_findings(p, "/runs/a").empty());
  p.environment.variables[0].value = "16";
  ASSERT_EQ(environment_findings(p, "/runs/a").size(), 1U);
  EXPECT_HAS(environment_findings(p, "/runs/a")[0], "NCCL_IB_QPS_PER_CONNECTION = 16");
  p.environment.generate = false;
  EXPECT_EQ(job_environment(p, "/runs/a").size(), 2U);
}

TEST(Environment, AProfileCanLeaveAGeneratedVariableOut) {
  ClusterProfile p =
      read_profile("ibm-roce", {{"environment.variables", "[{name: NCCL_NET_PLUGIN, unset: true, reason: a plugin}]"}});
  EXPECT_EQ(value_of(job_environment(p, "/runs/a"), "NCCL_NET_PLUGIN"), "-");
  EXPECT_EQ(unset_variables(p), std::vector<std::string>{"NCCL_NET_PLUGIN"});
  EXPECT_TRUE(environment_findings(p, "/runs/a", {.shell = {{"NCCL_NET_PLUGIN", "none"}}, .files = {}}).empty())
      << "the job unsets it";
  EXPECT_HAS(to_yaml(p), "unset: true");
}

TEST(Environment, WhatAJobInheritsAndItsProfileDoesNotSetIsTold) {
  const ClusterProfile p = read_profile("ibm-roce");
  const Environment shell = {{"NCCL_IB_DISABLE", "1"},
                             {"NCCL_NET", "Socket"},
                             {"NCCL_DEBUG_FILE", "/tmp/n"},
                             {"UCX_LOG_LEVEL", "info"},
                             {"PATH", "/bin"}};
  const auto told = environment_findings(p, "/runs/a", {.shell = shell, .files = {}});
  ASSERT_EQ(told.size(), 3U) << "NCCL_NET is the job's own";
  EXPECT_HAS(told[0], "inherits a variable of this shell: NCCL_DEBUG_FILE = /tmp/n");
  EXPECT_HAS(told[1], "NCCL_IB_DISABLE = 1: bad: ");
  EXPECT_HAS(told[1], "the job of ibm-roce does not set it: unset it, or say why in environment.variables");
  EXPECT_HAS(told[2], "UCX_LOG_LEVEL = info");
}

TEST(Environment, HasAReasonForEachValueAndLocksByTheFileSystem) {
  ClusterProfile p = read_profile("ibm-roce");
  p.nics.traffic_class = 41;
  p.file_systems = {{.path = "/nolock", .kind = "lustre", .advice = "", .locks = false}};
  for (const EnvironmentValue& v : job_environment(p, "/nolock/runs")) EXPECT_FALSE(v.reason.empty()) << v.name;
  EXPECT_EQ(value_of(job_environment(p, "/nolock/runs"), "HDF5_USE_FILE_LOCKING"), "FALSE");
  EXPECT_EQ(value_of(job_environment(p, "/home/runs"), "HDF5_USE_FILE_LOCKING"), "-");
  EXPECT_EQ(value_of(job_environment(p, "/home/runs"), "NCCL_IB_TC"), "41");
}

TEST(Profile, ReferencePageIsTheProgramsOwn) {
  EXPECT_TRUE(read_bytes(OCTET_SOURCE_DIR "/docs/clusters.md") == profile_reference_page())
      << "run: build/cpu/bin/octet submit --print-reference > docs/clusters.md";
}

}  // namespace
}  // namespace octet
