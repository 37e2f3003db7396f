#pragma once

#include <string>

#include "src/base/error.h"

namespace YAML {
class Node;
}

namespace octet {

/// Where a value stands, for messages: "configs/runs/a.yaml:4: train.steps".
struct Place {
  std::string source;  ///< a file, or "command line"
  int line = 0;        ///< from 1; 0: no lines
  std::string key;     ///< "section.key"

  /// "configs/runs/a.yaml:4" or "command line".
  std::string origin() const;
  Place at(int other_line, std::string other_key) const { return {source, other_line, std::move(other_key)}; }
};

/// Line of a node, from 1; 0 where the node was not read from text.
int line_of(const YAML::Node& node);

/// The node as a short text on one line for messages: `"1.5"`, `a map`, `a list`, `nothing`.
std::string describe(const YAML::Node& node);

/// Usage error "[config] a.yaml:4: train.steps = "1.5": expected an integer".
Error wrong_value(const Place& place, const YAML::Node& found, const std::string& expected);
Error wrong_value(const Place& place, const std::string& found, const std::string& expected);

}  // namespace octet
