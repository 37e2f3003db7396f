// What is chosen over sizes, nodes and ranks a node on the published fabrics, by NCCL alone and with the plugin.
// OCTET_UPDATE_GOLDEN=1 writes the files anew.
#include <gtest/gtest.h>

#include "src/cluster/profile.h"
#include "src/tuning/tuning_file.h"
#include "tests/tuning/plugin/fake_world.h"

namespace octet {
namespace {

using namespace test;

constexpr Collective collectives[] = {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter};
constexpr int nodes_asked[] = {1, 2, 4, 8, 16, 32, 64};
constexpr int most_log2 = 36;

/// "48M": of what is a whole number of its unit.
std::string size_text(std::int64_t bytes) {
  constexpr std::string_view units = "_KMGT";
  std::size_t unit = 0;
  for (; bytes % 1024 == 0; bytes /= 1024) ++unit;
  if (bytes >= 1024) return fmt::format("{}.5{}", bytes / 1024, units[unit + 1]);
  return unit == 0 ? fmt::format("{}", bytes) : fmt::format("{}{}", bytes, units[unit]);
}

/// 1K, 1.5K, 2K, 3K, ... 64G.
std::vector<std::int64_t> sizes() {
  std::vector<std::int64_t> all;
  for (int log2 = 10; log2 <= most_log2; ++log2) {
    all.push_back(std::int64_t{1} << log2);
    if (log2 < most_log2) all.push_back(std::int64_t{3} << (log2 - 1));
  }
  return all;
}

/// "tree/ll, from 384K tree/ll128, ...".
template <class Costs>
std::string switches(Costs&& costs) {
  std::string text, last;
  for (const std::int64_t bytes : sizes()) {
    const std::string now = decision(costs(bytes));
    if (now == last) continue;
    text += last.empty() ? now : fmt::format(", from {} {}", size_text(bytes), now);
    last = now;
  }
  return text;
}

/// The whole page of a cluster: what NCCL chooses, and below it what the plugin makes of that where it differs.
std::string page(const Library& plugin, const StandInNccl& nccl, const NcclMachine& machine) {
  std::string text;
  for (const char* release : {"2.27.7", "2.28.9", "2.29.7"}) {
    const NcclVersion version = parse_nccl_version(release);
    StandInNccl::set_version(version.major * 10000 + version.minor * 100 + version.patch);
    text += fmt::format("NCCL {}, tuner v{}\n", release, abi_of(version.minor));
    for (const Collective collective : collectives) {
      for (const int nodes : nodes_asked) {
        for (const int ranks_per_node : {8, 1}) {
          if (nodes * ranks_per_node == 1) continue;
          const Communicator comm(plugin, nccl, version, machine, {nodes, ranks_per_node});
          const auto name = fmt::format("{:<14} {:>2} x {}", name_of(collective), nodes, ranks_per_node);
          const auto alone = switches([&](std::int64_t bytes) { return comm.predicted(collective, bytes); });
          const auto tuned = switches([&](std::int64_t bytes) { return comm.tuned(collective, bytes); });
          text += fmt::format("{}  {}\n", name, alone);
          if (tuned != alone) text += fmt::format("{:>{}}  {}\n", "tuned", name.size(), tuned);
        }
      }
    }
  }
  return text;
}

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, DecisionsAreThose) {
  const std::string name = GetParam(), tuning = shipped(name + ".json");
  const bool has_tuning = std::filesystem::exists(tuning);
  const TuningFileSet set(has_tuning ? tuning : "");
  const Library plugin(OCTET_TUNER_PLUGIN);
  const StandInNccl nccl;
  const std::string now = page(plugin, nccl, machine_of(read_profile(name)));
  const std::string file = OCTET_SOURCE_DIR "/tests/tuning/plugin/golden/" + name + ".txt";
  if (std::getenv("OCTET_UPDATE_GOLDEN") != nullptr) std::ofstream(file) << now;
  EXPECT_EQ(now, content(file)) << "with OCTET_UPDATE_GOLDEN=1 the test writes " << file << " anew: read what differs";
  EXPECT_EQ(now.find("tuned  ") != std::string::npos, has_tuning) << "without a tuning file NCCL's own choices stay";
}

INSTANTIATE_TEST_SUITE_P(Fabrics, Golden, testing::Values("grand-teton", "ibm-infiniband", "ibm-roce", "aws-p5-efa"));

struct Crossover {
  int nodes;
  std::int64_t bytes;  ///< where the second begins
  const char *below, *from;
};

// Corners of the regions that aws-ofi-nccl has for AllReduce on p5 at 8 ranks a node (src/tuner/nccl_ofi_regions.cpp,
// region_init_internal_p5_p5e, at 2daf7d3), in its numbers: ranks are 8 times nodes.
TEST(EfaTuningFile, CrossoversAreThePublishedOnes) {
  const Crossover published[] = {
      {4, 37748736, "tree/ll128", "ring/ll128"},           {8, 117440512, "tree/ll128", "ring/ll128"},
      {16, 301989888, "tree/ll128", "ring/ll128"},         {16, 2147483648, "ring/ll128", "nvls_tree/simple"},
      {16, 6442450944, "nvls_tree/simple", "ring/simple"}, {20, 444596224, "nvls_tree/simple", "ring/ll128"},
      {20, 1342177280, "ring/ll128", "nvls_tree/simple"},  {20, 8053063680, "nvls_tree/simple", "ring/simple"},
      {32, 301989888, "tree/ll128", "nvls_tree/simple"},   {32, 1074790400, "nvls_tree/simple", "ring/ll128"},
      {32, 2147483648, "ring/ll128", "nvls_tree/simple"},  {64, 335544320, "tree/ll128", "nvls_tree/simple"},
      {128, 536870912, "tree/ll128", "nvls_tree/simple"}};
  const TuningFileSet set(shipped("aws-p5-efa.json"));
  const Library plugin(OCTET_TUNER_PLUGIN);
  const StandInNccl nccl;
  StandInNccl::set_version(22809);
  const NcclMachine machine = machine_of(read_profile("aws-p5-efa"));
  for (const Crossover& at : published) {
    const Communicator comm(plugin, nccl, NcclVersion{}, machine, {at.nodes, 8});
    EXPECT_EQ(decision(comm.tuned(Collective::all_reduce, at.bytes - 1)), at.below)
        << at.nodes << " nodes, " << at.bytes;
    EXPECT_EQ(decision(comm.tuned(Collective::all_reduce, at.bytes)), at.from) << at.nodes << " nodes, " << at.bytes;
  }
}

// Between two numbers of nodes with corners only what both have is chosen; elsewhere NCCL decides.
TEST(EfaTuningFile, NothingIsChosenWhereNothingIsPublished) {
  const TuningFileSet set(shipped("aws-p5-efa.json"));
  const Library plugin(OCTET_TUNER_PLUGIN);
  const StandInNccl nccl;
  StandInNccl::set_version(22809);
  const NcclMachine machine = machine_of(read_profile("aws-p5-efa"));
  const auto same = [&](CommShape shape, Collective collective, std::int64_t bytes) {
    const Communicator comm(plugin, nccl, NcclVersion{}, machine, shape);
    return comm.tuned(collective, bytes) == comm.predicted(collective, bytes);
  };
  EXPECT_FALSE(same({12, 8}, Collective::all_reduce, 117440511));
  EXPECT_TRUE(same({12, 8}, Collective::all_reduce, 117440512));
  EXPECT_TRUE(same({12, 8}, Collective::all_reduce, 301989887));
  EXPECT_FALSE(same({12, 8}, Collective::all_reduce, 301989888));
  for (const int nodes : {1, 2, 3, 129, 512}) EXPECT_TRUE(same({nodes, 8}, Collective::all_reduce, 1 << 20)) << nodes;
  EXPECT_TRUE(same({16, 1}, Collective::all_reduce, 1 << 20));
  EXPECT_TRUE(same({16, 8}, Collective::all_gather, 1 << 20));
  EXPECT_TRUE(same({16, 8}, Collective::reduce_scatter, 1 << 20));
}

}  // namespace
}  // namespace octet
