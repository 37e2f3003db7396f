#include "src/cluster/doctor/allocation.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "src/base/error.h"
#include "src/base/files.h"
#include "src/base/options/text.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr double warn_seconds = 5, bad_seconds = 60;
constexpr const char* absent = "nothing";

/// The value that most nodes have.
std::string majority(const std::map<std::string, std::vector<std::string>>& nodes_of) {
  return std::ranges::max_element(nodes_of, {}, [](const auto& entry) { return entry.second.size(); })->first;
}

Finding compare(const std::vector<NodeReport>& reports, const std::string& name) {
  std::map<std::string, std::vector<std::string>> nodes_of;
  for (const NodeReport& r : reports) {
    const auto found = r.versions.find(name);
    nodes_of[found == r.versions.end() ? absent : found->second].push_back(r.node);
  }
  const std::string check = "same." + name;
  const std::string most = majority(nodes_of);
  if (nodes_of.size() == 1) return good(check, most);
  std::vector<std::string> others;
  for (const auto& [value, nodes] : nodes_of) {
    if (value != most) others.push_back(fmt::format("{} on {}", value, joined(nodes)));
  }
  return {check, name == "nccl" ? FindingState::bad : FindingState::warning, joined(others, "; "),
          fmt::format("{}, as on {} of {} nodes", most, nodes_of[most].size(), reports.size()),
          "leave these nodes out, or have them installed like the others"};
}

Finding compare_clocks(std::vector<NodeReport> reports) {
  std::ranges::sort(reports, {}, &NodeReport::time);
  const double spread = reports.back().time - reports.front().time;
  const std::string seen = fmt::format("{:.1f} s between {} and {}", spread, reports.front().node, reports.back().node);
  if (spread <= warn_seconds) return good("clock.skew", seen);
  return {"clock.skew", spread > bad_seconds ? FindingState::bad : FindingState::warning, seen,
          fmt::format("at most {} s, where all nodes were looked at by one srun", warn_seconds),
          "start chronyd on these nodes; munge refuses a clock that is minutes off"};
}

Finding damaged(const std::string& why) {
  return {"doctor", FindingState::bad, why, "a report", "the node did not finish: look at it first"};
}

NodeReport read_report(const fs::path& file) {
  try {
    return parse_report(read_text_file(file).value_or(""), file);
  } catch (const Error& error) {
    return {.node = file.stem(), .time = 0, .versions = {}, .findings = {damaged(error.what())}};
  }
}

}  // namespace

Findings compare_nodes(const std::vector<NodeReport>& reports, std::size_t expected_nodes) {
  Findings out;
  if (reports.size() < expected_nodes) {
    out.push_back({"nodes", FindingState::bad, fmt::format("{} reported", reports.size()),
                   fmt::format("{} nodes of the job", expected_nodes), "look at those that are not in the table"});
  }
  std::vector<NodeReport> whole = reports;
  std::erase_if(whole, [](const NodeReport& r) { return r.time == 0; });
  if (whole.size() < 2) return out;
  out.push_back(compare_clocks(whole));
  std::set<std::string> names;
  for (const NodeReport& r : whole) {
    for (const auto& [name, value] : r.versions) names.insert(name);
  }
  for (const std::string& name : names) out.push_back(compare(whole, name));
  return out;
}

std::string node_table(std::vector<NodeReport> reports) {
  std::ranges::sort(reports, {}, &NodeReport::node);
  std::size_t width = 4;
  for (const NodeReport& r : reports) width = std::max(width, r.node.size());
  std::string out;
  for (const NodeReport& r : reports) {
    std::set<std::string> faults, doubts;
    for (const Finding& f : r.findings) {
      if (f.state == FindingState::bad) faults.insert(f.check);
      if (f.state == FindingState::warning) doubts.insert(f.check);
    }
    out += fmt::format("{:<{}}  {}", r.node, width, faults.empty() ? "healthy" : "unhealthy");
    if (!faults.empty()) out += fmt::format("  bad: {}", joined({faults.begin(), faults.end()}));
    if (!doubts.empty()) out += fmt::format("  warning: {}", joined({doubts.begin(), doubts.end()}));
    out += '\n';
  }
  return out;
}

std::vector<NodeReport> read_reports(const std::string& folder) {
  std::vector<NodeReport> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json") out.push_back(read_report(entry.path()));
  }
  if (out.empty())
    throw usage_error("cluster", "{}: expected files NODE.json, as octet doctor --json prints them", folder);
  std::ranges::sort(out, {}, &NodeReport::node);
  return out;
}

}  // namespace octet
