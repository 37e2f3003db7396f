#pragma once

#include <string>
#include <vector>

#include "src/cluster/doctor/node_report.h"

namespace octet {

/// Reports of the nodes of one job against each other: `clock.skew`, the spread of clocks of nodes that were looked at
/// within seconds, as by one srun (a warning above 5 s, bad above 60 s), and `same.NAME` for each version that not all
/// nodes share, with the nodes that differ from the majority (bad for nccl, whose releases do not talk to each other
/// dependably, else a warning). A single node has nothing to compare. `expected_nodes`: 0, or how many there must be.
Findings compare_nodes(const std::vector<NodeReport>& reports, std::size_t expected_nodes);

/// A line a node, sorted by name: healthy or not, with the checks that are not ok.
std::string node_table(std::vector<NodeReport> reports);

/// Reads all NODE.json files of a folder; files that are empty or damaged become a report with one bad finding, as a
/// node that could not finish. Usage error when there is none.
std::vector<NodeReport> read_reports(const std::string& folder);

}  // namespace octet
