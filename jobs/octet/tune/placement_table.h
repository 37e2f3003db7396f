#pragma once

#include <string>
#include <vector>

#include "src/tuning/contention/placement.h"

namespace octet::tune {

struct PlacementRow {
  Placement placement;
  PlacementCost cost;
};

struct PlacementReport {
  std::string cluster;
  FlowNetwork shape;
  Workload workload;
  double healthy_us = 0;           ///< of as many nodes, uncontended()
  std::vector<PlacementRow> rows;  ///< at least one
};

/// A table, the quickest placement first, and what it does not say for itself.
std::string to_text(const PlacementReport& report);
/// One object on one line, with hosts and flows whole.
std::string to_json(const PlacementReport& report);

}  // namespace octet::tune
