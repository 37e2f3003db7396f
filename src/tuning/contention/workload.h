#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "src/tuning/collective.h"
#include "src/tuning/contention/mesh_groups.h"

namespace octet {

/// A collective that all groups of one dimension of the mesh run at once, or the messages of a pipeline.
struct Workload {
  /// None: every rank sends `bytes` to the stage behind its own and to the one before it, all at once.
  std::optional<Collective> collective = Collective::all_gather;
  Algorithm algorithm = Algorithm::ring;  ///< or tree, for all_reduce
  std::int64_t bytes = 0;                 ///< of a group, as bus_factor() counts them, or of a message
  Dimension dimension = Dimension::dp_shard;
  MeshShape mesh;  ///< but for dp_shard, which is what the ranks leave
};

/// As parse_collective() and parse_algorithm(), but only for what can be simulated, which is what their usage errors
/// list. "send" are a pipeline's messages.
std::optional<Collective> parse_simulated_collective(std::string_view text);
Algorithm parse_simulated_algorithm(std::string_view text);

/// The collective's name, or "send".
std::string_view name_of_traffic(const Workload& workload);

/// Throws usage errors for a collective, an algorithm or a pair of them that is not simulated, for messages of another
/// dimension than pp or collectives of that one, and for no bytes.
void check(const Workload& workload);

}  // namespace octet
