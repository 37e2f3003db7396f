#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/cluster/machine/finding.h"

namespace octet {

/// A version as its numbers: "2.28.9" is {2, 28, 9}. They compare as versions do.
using Version = std::vector<int>;

/// The first dotted numbers of a text ("NCCL version 2.28.9+cuda13.0"); empty when it has none.
Version parse_version(std::string_view text);
/// "2.28.9".
std::string to_text(const Version& version);

/// Says whether a version is no older than `first` and no newer than `last`; "2.28" as `last` takes in 2.28.9, and an
/// empty bound is none.
bool in_range(const Version& version, std::string_view first, std::string_view last);

/// A range of versions with a fault, a row of configs/known-bad.yaml.
struct KnownVersions {
  std::string software;     ///< driver, cuda, nccl
  std::string first, last;  ///< both included; empty: no bound
  FindingState state = FindingState::bad;
  std::string problem, advice, source;
};

/// The list, read from `path`, or where Octet's files lie when it is empty. Usage error names file, line and key.
std::vector<KnownVersions> read_known_versions(const std::string& path = "");

/// What the list says of a version: a finding for each range that holds it, or one that is ok.
Findings judge_version(const std::vector<KnownVersions>& list, const std::string& software, const std::string& version);

}  // namespace octet
