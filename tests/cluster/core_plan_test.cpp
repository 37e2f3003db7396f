// Which cores ranks get, on made-up machines whose CPUs are numbered as those of real ones.
#include "src/cluster/cores/core_plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "src/cluster/cores/core_map.h"
#include "tests/data/support.h"

namespace octet {
namespace {

/// "0,112,1,113,...": core after core, of which each has its second thread `cores` further on, as Linux numbers them.
std::string siblings_at_a_distance(int cores) {
  std::string text;
  for (int core = 0; core < cores; ++core) text += fmt::format("{}{},{}", core == 0 ? "" : ",", core, core + cores);
  return text;
}

CoreMap dgx_h100() {
  return CoreMap::synthetic(fmt::format("pack:2 [numa] core:56 pu:2(indexes={})", siblings_at_a_distance(112)));
}
CoreMap p5(bool smt) {
  return CoreMap::synthetic(smt ? fmt::format("pack:2 [numa] core:48 pu:2(indexes={})", siblings_at_a_distance(96))
                                : "pack:2 [numa] core:48 pu:1");
}
/// Two AMD processors of 96 cores; each is one NUMA node (NPS1) or four (NPS4).
CoreMap hgx_amd(int nodes_per_socket) {
  const std::string threads = siblings_at_a_distance(192);
  if (nodes_per_socket == 1) return CoreMap::synthetic(fmt::format("pack:2 [numa] core:96 pu:2(indexes={})", threads));
  return CoreMap::synthetic(fmt::format("pack:2 group:4 [numa] core:24 pu:2(indexes={})", threads));
}

CpuList all_of(const CoreMap& map) {
  CpuList all;
  for (const CpuList& core : map.cores()) all.insert(all.end(), core.begin(), core.end());
  std::ranges::sort(all);
  return all;
}

CpuList list(const std::string& text) {
  return parse_cpu_list(text).value();
}

/// What the ranks get whose GPUs are on these NUMA nodes, of the CPUs that the job has (empty: all).
std::vector<RankCores> plan(const CoreMap& map, const std::vector<int>& numa_of_gpu, const std::string& allowed = "") {
  std::vector<RankPlace> ranks;
  ranks.reserve(numa_of_gpu.size());
  for (const int numa : numa_of_gpu) {
    ranks.push_back({.allowed = allowed.empty() ? all_of(map) : list(allowed),
                     .near = numa < 0 ? CpuList() : map.numa_nodes().at(static_cast<std::size_t>(numa))});
  }
  return plan_cores(map.cores(), ranks);
}

std::vector<std::string> texts(const std::vector<RankCores>& ranks) {
  std::vector<std::string> out;
  out.reserve(ranks.size());
  for (const RankCores& r : ranks) out.push_back(cpu_list_text(r.cpus));
  return out;
}

using Texts = std::vector<std::string>;
const std::vector<int> four_and_four = {0, 0, 0, 0, 1, 1, 1, 1};

TEST(CorePlan, DgxH100GivesEachRankAQuarterOfItsSocketWithBothThreads) {
  const auto ranks = plan(dgx_h100(), four_and_four);
  EXPECT_EQ(texts(ranks), (Texts{"0-13,112-125", "14-27,126-139", "28-41,140-153", "42-55,154-167", "56-69,168-181",
                                 "70-83,182-195", "84-97,196-209", "98-111,210-223"}));
  for (const RankCores& r : ranks) {
    EXPECT_EQ(r.cores, 14);
    EXPECT_EQ(r.sharing, 1);
    EXPECT_TRUE(r.is_near);
  }
}

TEST(CorePlan, GpusMayBeNumberedAcrossSockets) {
  EXPECT_EQ(texts(plan(dgx_h100(), {1, 0, 1, 0})),
            (Texts{"56-83,168-195", "0-27,112-139", "84-111,196-223", "28-55,140-167"}));
}

TEST(CorePlan, P5WithAndWithoutSecondThreads) {
  EXPECT_EQ(texts(plan(p5(true), four_and_four))[5], "60-71,156-167");
  EXPECT_EQ(texts(plan(p5(false), four_and_four))[5], "60-71");
  // The second threads are there, and are not the job's.
  EXPECT_EQ(texts(plan(p5(true), four_and_four, "0-95"))[5], "60-71");
}

TEST(CorePlan, AmdWithOneAndWithFourNodesASocket) {
  EXPECT_EQ(texts(plan(hgx_amd(1), four_and_four))[3], "72-95,264-287");
  // Two GPUs on a node share it; a GPU that has its node alone has all of it.
  const auto ranks = plan(hgx_amd(4), {1, 1, 3, 2, 5, 5, 7, 6});
  EXPECT_EQ(texts(ranks), (Texts{"24-35,216-227", "36-47,228-239", "72-95,264-287", "48-71,240-263", "120-131,312-323",
                                 "132-143,324-335", "168-191,360-383", "144-167,336-359"}));
  EXPECT_EQ(ranks[2].cores, 24);
}

TEST(CorePlan, NobodyLeavesTheJobsCores) {
  // Half of each socket is another job's.
  EXPECT_EQ(texts(plan(dgx_h100(), four_and_four, "28-55,84-111,140-167,196-223")),
            (Texts{"28-34,140-146", "35-41,147-153", "42-48,154-160", "49-55,161-167", "84-90,196-202", "91-97,203-209",
                   "98-104,210-216", "105-111,217-223"}));
}

TEST(CorePlan, RanksWithoutNearCoresShareTheOthersFairly) {
  // The job has no core of the second socket.
  const auto ranks = plan(dgx_h100(), four_and_four, "0-55,112-167");
  std::set<int> given;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    EXPECT_EQ(ranks[r].cores, 7) << r;
    EXPECT_EQ(ranks[r].is_near, r < 4) << r;
    given.insert(ranks[r].cpus.begin(), ranks[r].cpus.end());
  }
  EXPECT_EQ(given.size(), 112U);
  // It has two of them, too few for four ranks, which take of all that there is.
  const auto few = plan(dgx_h100(), four_and_four, "0-57");
  int cores = 0;
  for (const RankCores& r : few) {
    EXPECT_GE(r.cores, 7);
    EXPECT_LE(r.cores, 8);
    cores += r.cores;
  }
  EXPECT_EQ(cores, 58);
}

TEST(CorePlan, WithoutKnownPlacesCoresAreDividedInTheirOrder) {
  EXPECT_EQ(texts(plan(p5(false), std::vector<int>(3, -1))), (Texts{"0-31", "32-63", "64-95"}));
  EXPECT_EQ(texts(plan(p5(false), std::vector<int>(5, -1))), (Texts{"0-18", "19-37", "38-56", "57-75", "76-95"}));
}

TEST(CorePlan, MoreRanksThanCoresShareThemAll) {
  const CoreMap two = CoreMap::synthetic("pack:1 [numa] core:2 pu:1");
  for (const RankCores& r : plan(two, std::vector<int>(3, -1))) {
    EXPECT_EQ(cpu_list_text(r.cpus), "0-1");
    EXPECT_EQ(r.sharing, 3);
  }
}

TEST(CorePlan, WhatALauncherHasGivenEachRankStaysItsOwn) {
  const CoreMap map = p5(false);
  const auto near = map.numa_nodes()[0];
  const auto ranks = plan_cores(map.cores(), {{list("0-3"), near}, {list("4-7"), near}, {list("90"), near}});
  EXPECT_EQ(texts(ranks), (Texts{"0-3", "4-7", "90"}));
  EXPECT_FALSE(ranks[2].is_near);
}

TEST(CoreMap, OfThisMachineHasTheCpusThatAreAllowed) {
  const CoreMap map;
  const CpuList allowed = map.allowed(), all = all_of(map);
  EXPECT_FALSE(allowed.empty());
  EXPECT_EQ(common(allowed, all), allowed);
  const auto alone = plan_cores(map.cores(), {{allowed, {}}});
  EXPECT_EQ(alone[0].cpus, allowed) << "one rank has all of them";
  EXPECT_EQ(map.bind(alone[0].cpus), "");
  EXPECT_EQ(map.allowed(), allowed);
}

TEST(CoreMap, NamesTheVariableThatLeadsToNoMachine) {
  const test::TempFolder folder;
  const std::string file = folder / "text.xml";
  test::write_bytes(file, "no machine\n");
  ::setenv("HWLOC_XMLFILE", file.c_str(), 1);
  EXPECT_HAS(test::error_of([] { CoreMap(); }), "HWLOC_XMLFILE = " + file + ": hwloc finds no machine there");
  ::unsetenv("HWLOC_XMLFILE");
}

TEST(CoreMap, ReadsWhereAPciDeviceIs) {
  const test::TempFolder root;
  const std::string folder = "sys/bus/pci/devices/0000:1b:00.0/";
  test::write_bytes(root / (folder + "numa_node"), "0\n");
  test::write_bytes(root / (folder + "local_cpulist"), "0-3,8-11\n");
  const Machine machine(root.path());
  EXPECT_EQ(cpu_list_text(cpus_near(machine, "0000:1B:00.0")), "0-3,8-11");
  EXPECT_TRUE(cpus_near(machine, "0000:1c:00.0").empty());
  EXPECT_TRUE(cpus_near(machine, "").empty());
  test::write_bytes(root / (folder + "numa_node"), "-1\n");  // a virtual machine does not say; the list has all CPUs
  EXPECT_TRUE(cpus_near(machine, "0000:1b:00.0").empty());
}

TEST(CpuListText, IsThatOfLinux) {
  for (const char* text : {"", "0", "0-3", "0,2,4", "0-13,112-125"}) EXPECT_EQ(cpu_list_text(list(text)), text);
  EXPECT_EQ(list("3,1-2,2\n"), (CpuList{1, 2, 3}));
  for (const char* text : {"a", "1-", "-1", "3-1", "1,,2", "1;2", "99999"}) {
    EXPECT_FALSE(parse_cpu_list(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace octet
