#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/comm/mesh.h"
#include "src/comm/nccl_footprint.h"

namespace octet {

/// A communicator that a run makes.
struct DryGroup {
  std::string name;        ///< of the group that it is made for, whose settings it has
  std::vector<int> ranks;  ///< of the world
  NcclTraffic traffic;     ///< of all groups that share it
};

struct DryWorld {
  MeshShape shape;  ///< of the Mesh that will be made of it
  int rank = 0;     ///< whose place is taken
  /// Says whether a group of that name has memory that is not cheap (Communicator::memory), as NCCL's registered
  /// buffers are not. Null: no group has. A group of one rank counts only where `one_rank_groups` says that such groups
  /// are NCCL's too.
  std::function<bool(std::string_view name)> keeps_memory{};
  bool one_rank_groups = false;
  /// Says whether groups of these two names have the same settings, so that one may be the other's alias. Null: all
  /// have.
  std::function<bool(std::string_view a, std::string_view b)> alike{};
  /// All that are made, in their order, and what they are used for; null: not asked.
  std::vector<DryGroup>* made = nullptr;
  /// Sums take the scratch that the MPI backend takes to form them in rank order; NCCL's memory is not the ledger's.
  bool in_rank_order = true;
};

/// The world of one rank of such a mesh, without the other ranks: its calls do nothing except take the memory that a
/// backend would take, so that the ledger counts it. Its split() knows only the groups of a Mesh, by their names. The
/// stream's device must be one without memory. Recorded by make_traced, as any other.
std::unique_ptr<Communicator> make_dry_communicator(const DryWorld& world, Stream& stream);

}  // namespace octet
