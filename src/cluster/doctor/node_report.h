#pragma once

#include <map>
#include <string>

#include "src/cluster/doctor/examination.h"

namespace octet {

/// What one node says of itself.
struct NodeReport {
  std::string node;
  double time = 0;  ///< of its clock when it was looked at: seconds since 1970
  /// What nodes of a job should have in common: kernel, driver, nccl, gpus, hcas, firmware. Without what is not there.
  std::map<std::string, std::string> versions;
  Findings findings;
};

NodeReport examine_node(const Examination& e);

/// One JSON object on one line: {"node", "healthy", "time", "versions": {}, "findings": [{"check", "state", "seen",
/// "expected", "advice"}]}.
std::string to_json(const NodeReport& report);
/// Reads it back. Usage error that names `source` where the text is something else.
NodeReport parse_report(const std::string& text, const std::string& source);

/// The report for people: a line for each finding, with what was expected and what to do below those that are not ok.
std::string to_text(const Findings& findings);

}  // namespace octet
