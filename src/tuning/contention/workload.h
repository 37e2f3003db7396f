#pragma once

#include <cstdint>
#include <string_view>

#include "src/tuning/collective.h"
#include "src/tuning/contention/mesh_groups.h"

namespace octet {

/// A collective that all groups of one dimension of the mesh run at once.
struct Workload {
  Collective collective = Collective::all_gather;
  Algorithm algorithm = Algorithm::ring;  ///< or tree, for all_reduce
  std::int64_t bytes = 0;                 ///< of a group, as bus_factor() counts them
  Dimension dimension = Dimension::dp_shard;
  MeshDegrees mesh;
};

/// As parse_collective() and parse_algorithm(), but only for what can be simulated, which is what their usage errors
/// list.
Collective parse_simulated_collective(std::string_view text);
Algorithm parse_simulated_algorithm(std::string_view text);

/// Throws usage errors for a collective, an algorithm or a pair of them that is not simulated, and for no bytes.
void check(const Workload& workload);

}  // namespace octet
