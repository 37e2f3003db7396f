#pragma once

#include <string_view>

#include "src/tuning/collective.h"
#include "src/tuning/cost_model/model_constants.h"
#include "src/tuning/cost_model/nccl_machine.h"
#include "src/tuning/cost_model/nccl_release.h"

namespace octet::cost_lines {

// The parts of algorithm_costs(): which algorithms run, and the latency and bandwidth of each.

struct Case {
  const NcclVersion& version;
  const NcclMachine& machine;
  const ModelConstants& constants;
  Collective collective;
  CommShape shape;
  SearchedGraphs graphs;

  bool all_reduce() const { return collective == Collective::all_reduce; }
  bool rooted() const { return collective == Collective::broadcast || collective == Collective::reduce; }
  double ranks() const { return shape.ranks(); }
  /// Steps of a ring.
  double steps() const { return all_reduce() ? 2 * (ranks() - 1) : rooted() ? ranks() : ranks() - 1; }
  const SearchedGraph& graph(Algorithm algorithm) const;
};

std::string_view why_excluded(const Case& wanted, Algorithm algorithm, Protocol protocol);
double latency_us(const Case& wanted, Algorithm algorithm, Protocol protocol);
double algorithm_gbs(const Case& wanted, Algorithm algorithm, Protocol protocol);

}  // namespace octet::cost_lines
