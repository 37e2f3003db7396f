// The list of the doctor's checks, their findings and the page about them name the same.
#include "src/cluster/doctor/doctor_checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/cluster/doctor_support.h"
#include "tests/support/page_table.h"

namespace octet {
namespace {

using test::Changed;
using test::fixtures;

std::vector<std::string> listed_names() {
  std::vector<std::string> names;
  for (const DoctorCheck& check : doctor_checks()) names.insert(names.end(), check.names.begin(), check.names.end());
  return names;
}

TEST(DoctorChecks, AreThoseOfThePage) {
  const std::vector<std::string> names = listed_names();
  EXPECT_EQ(test::names_in_table(test::page_of_docs("doctor.md"), "| Check | From |"),
            std::multiset<std::string>(names.begin(), names.end()));
}

TEST(DoctorChecks, FindWhatTheListSaysOfThem) {
  const ClusterProfile profile = test::expected_node();
  const test::TempFolder empty;
  Changed node;  // what only a node with RoCE, and one whose variables name a file, are told
  node.with("sys/class/infiniband/mlx5_0/ports/1/link_layer", "Ethernet\n");
  node.with("sys/class/infiniband/mlx5_0/ports/1/hw_counters/packet_seq_err", "5000\n");
  node.with("commands/env", "NCCL_GRAPH_FILE=/tmp/graph.xml\n");
  std::set<std::string> found;
  for (const std::string& folder : {fixtures + "good", fixtures + "bad", empty.path(), node.folder().path()}) {
    const Machine machine(folder);
    for (const DoctorCheck& check : doctor_checks()) {
      for (const Finding& f : check.look({machine, &profile, "/gpfs/run"})) {
        EXPECT_EQ(std::ranges::count(check.names, f.check), 1) << f.check << " is not in the entry of its check";
        found.insert(f.check);
      }
    }
  }
  const std::vector<std::string> names = listed_names();
  EXPECT_EQ(found, std::set<std::string>(names.begin(), names.end()));
}

}  // namespace
}  // namespace octet
