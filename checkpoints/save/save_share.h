#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoints/format/format.h"
#include "checkpoints/save/save_plan.h"
#include "src/comm/communicator.h"

namespace octet::checkpoint {

/// Which of `writers` groups of neighbours rank `local_rank` of a node is in: groups of equal size, or one apart. With
/// at least as many writers as ranks every rank is a group.
int group_of(int local_rank, int local_size, int writers);

/// Who writes whose pieces to a file.
struct WriterGroup {
  /// The ranks that share memory and a file with this one, the writer first; null where this rank writes its own alone.
  std::unique_ptr<Communicator> ranks;
  /// The rank that writes for each rank; empty where every rank writes its own.
  std::vector<int> writer;
};

/// Splits the ranks of each node into `writers_per_node` groups; 0: every rank writes. More than a node has ranks is
/// that number of ranks, and rank 0 says so of its node. Collective.
WriterGroup make_writer_group(int writers_per_node, Communicator& control);

/// What of a plan a rank has to know to take its snapshot and to write its file.
struct SaveShare {
  std::vector<std::int32_t> copies;  ///< what it copies to host memory: ascending places in its own list of pieces
  /// Of the writer of a group: what each of its members copies, in their order, without data. Else empty.
  std::vector<std::vector<DevicePiece>> group;

  /// The host memory of a share: for each piece that is copied, as itself and where a member of a group copies it.
  static std::int64_t bytes_of_copy() { return static_cast<std::int64_t>(sizeof(copies[0])); }
  static std::int64_t bytes_in_group(const StoredTensor& tensor) {
    return static_cast<std::int64_t>(sizeof(DevicePiece) + tensor.name.size());
  }
  std::int64_t host_bytes() const;
};

/// A plan of the pieces of all ranks, made by rank 0, which keeps it; and this rank's share. What no rank needs is gone
/// then. On the other ranks the plan is empty. Where the pieces are no whole tensors all ranks throw a usage error that
/// names the tensor. Collective.
struct SharedPlan {
  SavePlan plan;
  SaveShare share;
};
SharedPlan plan_together(std::span<const DevicePiece> pieces, const WriterGroup& group, Communicator& control);

}  // namespace octet::checkpoint
