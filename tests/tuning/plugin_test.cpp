// The tuner plugin through the interface of each version, as NCCL calls it.
#include <gtest/gtest.h>
#include <unistd.h>

#include "src/base/content_hash.h"
#include "src/base/hex_text.h"
#include "src/tuning/tuning_file.h"
#include "tests/support/mib.h"
#include "tests/support/run_command.h"
#include "tests/tuning/plugin/fake_world.h"

namespace octet {
namespace {

using namespace test;

/// Pins all_reduce of 1 to 2 MiB on 4 to 7 nodes of 8 to ring/simple, all_gather from 1 GiB likewise, and has one
/// constant of each kind.
TuningFile small_tuning(const std::string& nccl = "2.28.9") {
  TuningFile tuning{
      .cluster = "here", .fabric = "roce", .nccl = nccl, .provenance = {}, .constants = {}, .fits = {}, .choices = {}};
  TunedChoice choice;
  choice.nodes_from = 4, choice.nodes_to = 8, choice.bytes_from = mib, choice.bytes_to = 2 * mib;
  tuning.choices.push_back(choice);
  choice.collective = Collective::all_gather, choice.bytes_from = 1024 * mib, choice.bytes_to = 0;
  tuning.choices.push_back(choice);
  tuning.constants.base_latency.push_back({Algorithm::tree, Protocol::ll, 7.5});
  tuning.constants.hw_latency.push_back({TunedLink::net, Algorithm::ring, Protocol::simple, 21.5});
  tuning.constants.bandwidth.push_back({TunedLimit::nvls_tree, TunedGeneration::hopper, 3, 33.5});
  return tuning;
}

class TunerPlugin : public testing::Test {
 protected:
  void SetUp() override { StandInNccl::set_version(22809); }
  void TearDown() override {
    unsetenv("OCTET_TUNING_FILE");
    unsetenv("OCTET_TUNING_HASH");
  }

  void use(const TuningFile& tuning) { setenv("OCTET_TUNING_FILE", folder_.file(to_json(tuning)).c_str(), 1); }
  /// Whether a communicator of 4 nodes has the choice of small_tuning().
  bool pins(int abi) {
    const Tuner tuner(plugin_, abi, 32, 4, nccl_.logger(), nullptr);
    CostTable costs;
    costs.fill(5);
    return decision(tuner.ask(4, mib, costs)) == "ring/simple";
  }

  Folder folder_;
  Library plugin_{OCTET_TUNER_PLUGIN};
  StandInNccl nccl_;
};

TEST_F(TunerPlugin, EveryVersionMakesTheChosenEntryTheCheapest) {
  for (const int abi : {4, 5, 6}) {
    use(small_tuning());
    EXPECT_TRUE(pins(abi)) << abi;
    EXPECT_NE(nccl_.lines().find("INFO octet tuner: "), std::string::npos);
  }
}

TEST_F(TunerPlugin, ItSaysWhatItApplies) {
  use(small_tuning());
  tuner_abi::Constants constants{};
  { const Tuner tuner(plugin_, 5, 32, 4, nccl_.logger(), &constants); }
  const std::string lines = nccl_.lines();
  EXPECT_NE(lines.find("(here, NCCL 2.28.9): 3 constant(s) and 2 choice(s) for 32 ranks on 4 node(s)"),
            std::string::npos)
      << lines;
}

TEST_F(TunerPlugin, ChoicesKeepToTheirBytesNodesRanksAndCollective) {
  use(small_tuning());
  CostTable costs;
  costs.fill(5);
  struct Case {
    std::size_t nodes, ranks_per_node;
    Collective collective;
    std::int64_t bytes;
    bool chosen;
  };
  const Case cases[] = {
      {4, 8, Collective::all_reduce, mib, true},         {4, 8, Collective::all_reduce, mib - 1, false},
      {4, 8, Collective::all_reduce, 2 * mib - 1, true}, {4, 8, Collective::all_reduce, 2 * mib, false},
      {3, 8, Collective::all_reduce, mib, false},        {7, 8, Collective::all_reduce, mib, true},
      {8, 8, Collective::all_reduce, mib, false},        {4, 4, Collective::all_reduce, mib, false},
      {4, 8, Collective::all_gather, mib, false},        {4, 8, Collective::all_gather, std::int64_t{1} << 45, true},
      {4, 8, Collective::reduce_scatter, mib, false},    {4, 8, Collective::broadcast, mib, false}};
  for (const Case& c : cases) {
    const Tuner tuner(plugin_, 5, c.nodes * c.ranks_per_node, c.nodes, nccl_.logger(), nullptr);
    const CostTable after = tuner.ask(static_cast<unsigned>(c.collective), static_cast<std::size_t>(c.bytes), costs);
    EXPECT_EQ(after != costs, c.chosen) << c.nodes << " x " << c.ranks_per_node << " " << name_of(c.collective) << " "
                                        << c.bytes;
    if (c.chosen) {
      EXPECT_EQ(decision(after), "ring/simple");
    }
  }
}

TEST_F(TunerPlugin, WhatNcclExcludesStaysExcluded) {
  use(small_tuning());
  const Tuner tuner(plugin_, 5, 32, 4, nccl_.logger(), nullptr);
  CostTable costs;
  costs.fill(5);
  const std::size_t ring_simple = 1 * 3 + 2;
  costs[ring_simple] = -1;
  EXPECT_EQ(tuner.ask(4, mib, costs), costs);
  costs.fill(-1);
  EXPECT_EQ(tuner.ask(4, mib, costs), costs);
}

TEST_F(TunerPlugin, TheTableIsOnePieceAndNothingBesideItIsWritten) {
  use(small_tuning());
  const Tuner tuner(plugin_, 5, 32, 4, nccl_.logger(), nullptr);
  std::array<float, 64> memory;
  memory.fill(7);
  int channels = 0;
  float* const table = memory.data() + 20;
  ASSERT_EQ(
      tuner.raw()(const_cast<void*>(tuner.context()), 4, mib, 1, reinterpret_cast<float**>(table), 7, 3, 1, &channels),
      0);
  for (std::size_t i = 0; i < memory.size(); ++i) EXPECT_EQ(memory[i], i == 20 + 5 ? 0 : 7) << i;
  EXPECT_EQ(channels, 0);
  // A table of fewer algorithms, as an older NCCL would have, has no such entry.
  memory.fill(7);
  ASSERT_EQ(
      tuner.raw()(const_cast<void*>(tuner.context()), 4, mib, 1, reinterpret_cast<float**>(table), 1, 3, 1, &channels),
      0);
  EXPECT_EQ(memory[25], 7);
}

TEST_F(TunerPlugin, FunctionsThatNcclDoesNotTuneAndNullsAreLeftAlone) {
  use(small_tuning());
  const Tuner tuner(plugin_, 5, 32, 4, nullptr, nullptr);
  CostTable costs;
  costs.fill(5);
  for (const unsigned function : {5U, 14U, 0xFFFFFFFFU}) EXPECT_EQ(tuner.ask(function, mib, costs), costs);
  EXPECT_EQ(tuner.raw()(nullptr, 4, mib, 1, reinterpret_cast<float**>(costs.data()), 7, 3, 0, nullptr), 0);
  EXPECT_EQ(tuner.raw()(const_cast<void*>(tuner.context()), 4, mib, 1, nullptr, 7, 3, 0, nullptr), 0);
}

TEST_F(TunerPlugin, FittedConstantsTakeThePlaceOfNccls) {
  for (const int abi : {5, 6}) {
    use(small_tuning());
    const ModelConstants before = default_constants(NcclVersion{});
    ModelConstants expected = before;
    expected.base_latency[0][0] = 7.5;
    expected.hw_latency[2][1][2] = 21.5;
    expected.nvls_tree_max[2][2] = 33.5;
    tuner_abi::Constants constants = as_abi(before);
    const Tuner tuner(plugin_, abi, 32, 4, nccl_.logger(), &constants);
    EXPECT_EQ(as_model(constants), expected) << abi;
  }
}

TEST_F(TunerPlugin, AConstantMovesNcclsOwnChoice) {
  TuningFile slow_nvls;
  slow_nvls = small_tuning();
  slow_nvls.choices.clear();
  slow_nvls.constants = {};
  slow_nvls.constants.hw_latency.push_back({TunedLink::net, Algorithm::nvls_tree, Protocol::simple, 5000});
  use(slow_nvls);
  const CommShape shape{16, 8};
  const NcclVersion version;
  const Communicator with(plugin_, nccl_, version, NcclMachine{}, shape);
  unsetenv("OCTET_TUNING_FILE");
  const Communicator without(plugin_, nccl_, version, NcclMachine{}, shape);
  EXPECT_EQ(decision(without.tuned(Collective::all_reduce, 64 * mib)), "nvls_tree/simple");
  EXPECT_NE(decision(with.tuned(Collective::all_reduce, 64 * mib)), "nvls_tree/simple");
}

TEST_F(TunerPlugin, AFileIsForOneMinorReleaseOfNccl) {
  struct Case {
    const char* file;
    int running, abi;
    bool applied;
  };
  const Case cases[] = {{"2.28.9", 22809, 5, true},
                        {"2.28.9", 22803, 5, true},
                        {"2.28", 22809, 5, true},
                        {"2.28.9", 22902, 5, false},
                        {"2.27.7", 22707, 4, true},
                        {"2.28.9", 22707, 4, false},
                        {"2.27.7", 22809, 5, false},
                        {"2.30.7", 23007, 6, true},
                        {"2.29.2", 23007, 6, false},
                        {"2.2", 22809, 5, false},
                        // A library that does not tell its version: what asks for the symbol bounds it.
                        {"2.28.9", 0, 5, true},
                        {"2.29.7", 0, 5, true},
                        {"2.27.7", 0, 5, false},
                        {"2.30.7", 0, 5, false},
                        {"2.24.3", 0, 4, true},
                        {"2.28.9", 0, 4, false},
                        {"2.30.7", 0, 6, true},
                        {"2.28.9", 0, 6, false}};
  for (const Case& c : cases) {
    StandInNccl::set_version(c.running);
    use(small_tuning(c.file));
    EXPECT_EQ(pins(c.abi), c.applied) << c.file << " on " << c.running << " by v" << c.abi;
    const std::string lines = nccl_.lines();
    EXPECT_EQ(lines.find("WARN ") != std::string::npos, !c.applied) << lines;
    if (!c.applied) {
      EXPECT_NE(lines.find(fmt::format("is for NCCL {}, but ", c.file)), std::string::npos) << lines;
    }
  }
}

TEST_F(TunerPlugin, WithoutAFileNothingIsChanged) {
  for (const int abi : {4, 5, 6}) {
    unsetenv("OCTET_TUNING_FILE");
    EXPECT_FALSE(pins(abi));
    EXPECT_NE(nccl_.lines().find("INFO octet tuner: OCTET_TUNING_FILE is not set"), std::string::npos);
  }
}

TEST_F(TunerPlugin, AFileThatCannotBeUsedIsNamedAndNothingIsChanged) {
  const std::string good = to_json(small_tuning());
  const std::string files[] = {folder_.path() + "/missing.json", folder_.path(), folder_.file(""), folder_.file("{}"),
                               folder_.file(good.substr(0, good.size() / 2))};
  for (const std::string& file : files) {
    for (const int abi : {4, 5, 6}) {
      setenv("OCTET_TUNING_FILE", file.c_str(), 1);
      EXPECT_FALSE(pins(abi)) << file;
      const std::string lines = nccl_.lines();
      EXPECT_EQ(lines.rfind("WARN octet tuner: [tuning] " + file, 0), 0U) << lines;
      EXPECT_NE(lines.find("NCCL's own choices stay"), std::string::npos) << lines;
    }
  }
}

TEST_F(TunerPlugin, AFileThatOthersCanWriteIsRefused) {
  namespace fs = std::filesystem;
  const auto lines_of = [&](const std::string& file) {
    setenv("OCTET_TUNING_FILE", file.c_str(), 1);
    EXPECT_FALSE(pins(5)) << file;
    return nccl_.lines();
  };
  const std::string open_file = folder_.file(to_json(small_tuning()));
  fs::permissions(open_file, fs::perms::others_write, fs::perm_options::add);
  EXPECT_NE(lines_of(open_file).find("WARN octet tuner: [tuning] " + open_file + ": others can change it"),
            std::string::npos);

  const fs::path open_folder = fs::path(folder_.path()) / "open";
  fs::create_directory(open_folder);
  fs::permissions(open_folder, fs::perms::all);
  const std::string replaceable = open_folder / "a.json";
  std::ofstream(replaceable) << to_json(small_tuning());
  EXPECT_NE(lines_of(replaceable).find(open_folder.string() + " has mode 0777"), std::string::npos);
  fs::permissions(open_folder, fs::perms::sticky_bit, fs::perm_options::add);  // as /tmp: others cannot replace it
  if (::geteuid() == 0) {                                                      // who alone can give files away
    const std::string given = open_folder / "b.json";
    std::ofstream(given) << to_json(small_tuning());
    ASSERT_EQ(::chown(given.c_str(), 12345, 12345), 0);
    EXPECT_NE(lines_of(given).find("it is of user 12345"), std::string::npos);
  }
  setenv("OCTET_TUNING_FILE", replaceable.c_str(), 1);
  EXPECT_TRUE(pins(5));
}

TEST_F(TunerPlugin, AFileThatIsNotTheOneAgreedOnChangesNothing) {
  const std::string text = to_json(small_tuning()), agreed = hex_text(content_hash(text));
  for (const int abi : {4, 5, 6}) {
    setenv("OCTET_TUNING_HASH", agreed.c_str(), 1);
    const std::string file = folder_.file(text);
    setenv("OCTET_TUNING_FILE", file.c_str(), 1);
    EXPECT_TRUE(pins(abi));
    EXPECT_EQ(nccl_.lines().find("WARN "), std::string::npos);
    const std::string other = folder_.file(text + " ");
    setenv("OCTET_TUNING_FILE", other.c_str(), 1);
    EXPECT_FALSE(pins(abi));
    const std::string lines = nccl_.lines();
    EXPECT_EQ(lines.rfind("WARN octet tuner: [tuning] " + other + ": its hash is ", 0), 0U) << lines;
    EXPECT_NE(lines.find("; expected " + agreed + ", of OCTET_TUNING_HASH"), std::string::npos) << lines;
    EXPECT_NE(lines.find("NCCL's own choices stay"), std::string::npos) << lines;
    unsetenv("OCTET_TUNING_HASH");
    EXPECT_TRUE(pins(abi)) << "other programs compare nothing";
  }
}

TEST_F(TunerPlugin, ImpossibleConstantsAreNamedAndNothingIsChanged) {
  TuningFile twice = small_tuning(), negative = small_tuning(), absurd = small_tuning();
  twice.constants.hw_latency.push_back(twice.constants.hw_latency[0]);
  negative.constants.base_latency[0].us = -7.5;
  absurd.constants.bandwidth[0].gbs = 1e9;
  for (const auto& [tuning, message] :
       {std::pair{twice, "constants.hw_latency[1].algorithm is \"ring\"; expected "},
        {negative, "constants.base_latency[0].us is -7.5; expected a number of "},
        {absurd, "constants.bandwidth[0].gbs is 1000000000.0; expected a number of "}}) {
    use(tuning);
    const tuner_abi::Constants before = as_abi(default_constants(NcclVersion{}));
    tuner_abi::Constants constants = before;
    const Tuner tuner(plugin_, 5, 32, 4, nccl_.logger(), &constants);
    EXPECT_EQ(as_model(constants), as_model(before));
    EXPECT_EQ(tuner.context(), nullptr);
    const std::string lines = nccl_.lines();
    EXPECT_NE(lines.find(message), std::string::npos) << lines;
    EXPECT_NE(lines.find("NCCL's own choices stay"), std::string::npos) << lines;
  }
}

TEST_F(TunerPlugin, ALoggerIsNotNeeded) {
  setenv("OCTET_TUNING_FILE", (folder_.path() + "/missing.json").c_str(), 1);
  testing::internal::CaptureStderr();
  { const Tuner tuner(plugin_, 5, 32, 4, nullptr, nullptr); }
  EXPECT_NE(testing::internal::GetCapturedStderr().find("missing.json"), std::string::npos);
}

TEST_F(TunerPlugin, NodesOfDifferentNumbersOfRanksHaveNoChoices) {
  use(small_tuning());
  const Tuner uneven(plugin_, 5, 31, 4, nccl_.logger(), nullptr), empty(plugin_, 5, 0, 0, nccl_.logger(), nullptr);
  EXPECT_EQ(uneven.context(), nullptr);
  EXPECT_EQ(empty.context(), nullptr);
  EXPECT_NE(nccl_.lines().find("hold different numbers of ranks"), std::string::npos);
}

TEST_F(TunerPlugin, AFileThatChangesMeanwhileDoesNotChangeLaterCommunicators) {
  const std::string file = folder_.file(to_json(small_tuning()));
  setenv("OCTET_TUNING_FILE", file.c_str(), 1);
  EXPECT_TRUE(pins(5));
  std::ofstream(file) << "{}";
  EXPECT_TRUE(pins(5));
}

#if defined(__has_feature)  // clang; gcc has macros
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define OCTET_SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OCTET_SANITIZED 1
#endif
#ifndef OCTET_SANITIZED
TEST(TunerPluginLibrary, ShowsNcclsSymbolsAloneAndNeedsLibcAlone) {
  const auto symbols = test::run_command("nm -D --defined-only -j " OCTET_TUNER_PLUGIN);
  EXPECT_EQ(symbols.out, "ncclTunerPlugin_v4\nncclTunerPlugin_v5\nncclTunerPlugin_v6\n") << symbols.err;
  const auto needed = test::run_command(
      "readelf -d " OCTET_TUNER_PLUGIN
      " | sed -n 's/.*(NEEDED).*\\[\\([a-z0-9-]*\\).*/\\1/p' | grep -vxE 'libc|libm|ld-linux-x86-64'");
  EXPECT_EQ(needed.out, "");
}
#endif

}  // namespace
}  // namespace octet
