#pragma once

#include <array>
#include <string>
#include <vector>

namespace octet {

/// The name of a node as ranks send it to each other, with zeros behind it. Linux and Slurm have names of at most 64
/// bytes.
using NodeName = std::array<char, 256>;

NodeName sendable(const std::string& name);

/// The first rank whose node has the same name as that of `rank`: a colour by which to split the ranks by node.
/// MPI_COMM_TYPE_SHARED does not serve. MPICH reads there what the launcher says of the placement of ranks, and where a
/// host file names a node several times in a row, once for each of its ranks, it takes each line for a node.
int first_rank_of_node(const std::vector<NodeName>& names, int rank);

}  // namespace octet
