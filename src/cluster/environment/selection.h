#pragma once

#include <map>
#include <set>
#include <string>

#include "src/cluster/environment/variable_table.h"

namespace octet {

/// What a list of algorithms or protocols ("ring,tree;allreduce:^tree") leaves to each function, as NCCL's parseList
/// reads it: no blanks are trimmed, empty groups and names are skipped, a group without a function is for all.
struct Selection {
  std::string problem;                                   ///< why NCCL ends with an error; empty: it takes the list
  std::map<std::string, std::set<std::string>> allowed;  ///< in small letters, by function: "allgather"
  std::set<std::string> named{};                         ///< functions of which a group of the list speaks
};
Selection parse_selection(const Variable& variable, const std::string& value);

/// Says whether the list leaves `name` to a function that the list mentions: NCCL then enables it without checking
/// whether it is safe there, even if the list only excludes other names.
bool forces(const Variable& variable, const std::string& value, const std::string& name);

/// What NCCL has to choose from beside its list.
struct AlgorithmLimits {
  bool one_node = false;            ///< no communicator reaches another node
  bool one_rank_a_node = false;     ///< PAT needs that
  bool nvls = true, sharp = false;  ///< NVLink SHARP, and SHARP in the switches (NCCL_COLLNET_ENABLE)
};

/// The collectives of a training for which a selection of NCCL_ALGO leaves no algorithm, with those that they have:
/// "all_gather and reduce_scatter (ring)"; empty where each has one. As src/graph/tuning of NCCL 2.28.9 enables them.
std::string without_algorithm(const Selection& selection, const AlgorithmLimits& limits);

}  // namespace octet
