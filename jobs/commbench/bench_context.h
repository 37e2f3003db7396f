#pragma once

#include <string>
#include <vector>

#include "jobs/commbench/bench_options.h"
#include "jobs/commbench/report.h"
#include "src/comm/mesh.h"
#include "src/train/plan/step_collectives.h"

namespace octet::commbench {

/// What all parts work with. Every rank takes part in each.
struct Context {
  const Options& options;
  Communicator& control;             ///< src/comm/control_exchange.h
  std::vector<std::string> node_of;  ///< by rank
  Report& report;

  /// How many nodes those ranks are on.
  int nodes(const std::vector<int>& ranks) const;
  /// Says on standard error, from rank 0, what is measured now: one line that is written anew on a terminal, elsewhere
  /// a line every ten seconds. Without text the line is cleared, for what comes on standard output.
  void progress(const std::string& text = {}) const;
};

/// Usage error, with the numbers, where ranks of a node cannot have so many bytes each.
void check_memory(const Context& context, Device& device, std::int64_t bytes, const std::string& what);

/// All sizes of all collectives between all ranks. `plain`: what to compare with, or null.
void run_sweep(const Context& context, Communicator& world, Communicator* plain);
/// The record of a collective of the sweep whose larger buffer has about so many bytes, at least one element a rank.
CommRecord sweep_call(const std::string& collective, DType dtype, int ranks, std::int64_t bytes);

/// What a step of the run sends, in the groups of its mesh, all groups of a dimension at once.
void run_steps(const Context& context, Mesh& mesh);
/// The ranks of the group of that name to which `rank` belongs.
std::vector<int> members(const MeshShape& shape, const std::string& group, int rank);

/// Every pair of nodes, or of ranks, in rounds in which each has one partner.
void run_pairs(const Context& context, Communicator& world);

}  // namespace octet::commbench
