#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "src/cluster/machine/finding.h"
#include "src/topology/nccl_xml.h"
#include "src/topology/xml_fields.h"
#include "tests/support/expect_has.h"

namespace octet::test {

/// The text of tests/topology/samples/NAME.
inline std::string topology_text(const std::string& name) {
  return read_xml_text(OCTET_SOURCE_DIR "/tests/topology/samples/" + name);
}

inline NodeTopology topology(const std::string& name) {
  return parse_topology(topology_text(name), name);
}

/// `text` with one place in it changed; fails where that is not there.
inline std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

inline Finding find(const Findings& findings, const std::string& check) {
  const auto found = std::ranges::find(findings, check, &Finding::check);
  if (found != findings.end()) return *found;
  ADD_FAILURE() << "no finding " << check;
  return {};
}

/// The checks that are not as they should be: "topology.locality topology.gpu_direct".
inline std::string complaints(const Findings& findings) {
  std::string out;
  for (const Finding& f : findings) {
    if (f.state == FindingState::bad || f.state == FindingState::warning) out += (out.empty() ? "" : " ") + f.check;
  }
  return out;
}

}  // namespace octet::test
