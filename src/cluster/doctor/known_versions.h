#pragma once

#include <string>
#include <vector>

#include "src/cluster/doctor/finding.h"

namespace octet {

/// A range of versions with a fault, a row of configs/known-bad.yaml.
struct KnownVersions {
  std::string software;     ///< driver, cuda, nccl
  std::string first, last;  ///< both included; empty: no bound
  State state = State::bad;
  std::string problem, advice, source;
};

/// The list, read from `path`, or where Octet's files lie when it is empty. Usage error names file, line and key.
std::vector<KnownVersions> read_known_versions(const std::string& path = "");

/// What the list says of a version: a finding for each range that holds it, or one that is ok.
Findings judge_version(const std::vector<KnownVersions>& list, const std::string& software, const std::string& version);

}  // namespace octet
