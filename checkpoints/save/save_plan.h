#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoints/format/format.h"
#include "src/comm/communicator.h"

namespace octet::checkpoint {

/// Who writes what. The same on every rank, but for `mine`.
struct SavePlan {
  struct Piece {
    std::int32_t tensor = 0;  ///< index into `tensors`
    Box box;
  };

  std::vector<StoredTensor> tensors;       ///< in the order in which ranks name them, rank 0 first
  std::vector<std::vector<Piece>> copies;  ///< by rank: what it copies to host memory, of all that it has
  std::vector<std::int32_t> mine;          ///< what copies[rank] is in this rank's own list of pieces
  std::vector<int> writer;                 ///< by rank: who writes what it copied
  std::int64_t bytes = 0;                  ///< of all tensors, without what files add

  /// What each rank writes, in the order of its file: what it copied and then what its group did. A rank that has
  /// nothing to write makes no file.
  std::vector<std::vector<Piece>> writes() const;
};

/// This rank's pieces without their data, to be told to the others. Equal text, equal plan.
std::string describe_pieces(std::span<const DevicePiece> pieces);

/// The plan from the descriptions of all ranks. Pure. A piece that several ranks have is copied by one of them, an
/// empty one by none. `writer` as in the plan; empty where every rank writes its own. Throws a usage error for a tensor
/// that has two shapes or dtypes, or is not covered exactly once.
SavePlan plan_save(const std::vector<std::string>& descriptions, int rank, std::vector<int> writer = {});

/// Which of the ranks that hold a copy of each piece writes it: the pieces that each rank holds in, and for each rank
/// the indices of those of its pieces that it writes out, ascending. Every distinct (tensor, box) is written exactly
/// once, balanced by bytes over the ranks that have it; pieces without elements are written by nobody. Pure and the
/// same on every rank. Throws an internal error when copies of one piece differ in bytes.
struct HeldPiece {
  std::int32_t tensor = 0;
  Box box;
  std::int64_t bytes = 0;
};
std::vector<std::vector<std::int32_t>> assign_writers(const std::vector<std::vector<HeldPiece>>& held_by_rank);

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
