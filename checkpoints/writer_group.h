#pragma once

#include <memory>
#include <vector>

#include "src/comm/communicator.h"

namespace octet::checkpoint {

/// Which of `writers` groups of neighbours rank `local_rank` of a node is in: groups of equal size, or one apart. With
/// at least as many writers as ranks every rank is a group.
int group_of(int local_rank, int local_size, int writers);

/// Who writes whose pieces to a file.
struct WriterGroup {
  /// The ranks that share memory and a file with this one, the writer first; null where this rank writes its own alone.
  std::unique_ptr<Communicator> ranks;
  /// The rank that writes for each rank of the world; empty where every rank writes its own.
  std::vector<int> writer;
};

/// Splits the ranks of each node into `writers_per_node` groups; 0: every rank writes. More than a node has ranks is
/// that number of ranks, and rank 0 says so of its node. Collective.
WriterGroup make_writer_group(int writers_per_node, Communicator& world);

}  // namespace octet::checkpoint
