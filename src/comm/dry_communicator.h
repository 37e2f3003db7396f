#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "src/comm/mesh.h"

namespace octet {

struct DryWorld {
  MeshShape shape;  ///< of the Mesh that will be made of it
  int rank = 0;     ///< whose place is taken
  /// Whether the memory of a group of that name is not cheap (Communicator::memory), as registered buffers of NCCL's
  /// are not; null: of none. Of a group of one rank only where `one_rank_groups` says that such ones are NCCL's too.
  std::function<bool(std::string_view name)> keeps_memory{};
  bool one_rank_groups = false;
};

/// The world of one rank of such a mesh without the other ranks: its calls do nothing, but what the backend of the
/// stream's device would take of the ledger they take. Its split() knows the groups of a Mesh by their names alone.
/// The stream's device is to be one without memory. Recorded by make_traced, as any other.
std::unique_ptr<Communicator> make_dry_communicator(const DryWorld& world, Stream& stream);

}  // namespace octet
